"""What the panels optimise: one module for each objective."""
