"""The paper's theorems, tested by experiments."""
