"""What very many trials cost, and what the model beyond 2,000 queries is worth: python -m benchmarks.scale."""
