"""The report: what the runs say of each claim, as tables, pictures, Markdown and HTML."""
