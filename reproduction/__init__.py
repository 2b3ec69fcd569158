"""The paper's experiments, run again: `python -m reproduction list | run | report`."""
