"""Speed, side by side with the bare calls that the work needs: one command each, ratios measured in one run."""
