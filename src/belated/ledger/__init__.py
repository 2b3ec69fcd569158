"""A study's memory: append and read."""
