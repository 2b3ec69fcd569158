"""belated inside other libraries. Each of them is imported by its own package here, and by nothing else."""
