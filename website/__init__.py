"""The documentation site: what mkdocs.yml needs besides the pages themselves."""
