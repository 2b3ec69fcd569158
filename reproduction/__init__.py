"""The paper's experiments: every panel as a value, its data, its runs and its report."""
