"""A server for a team: the study's verbs over HTTP, and pages. Needs `pip install "belated[service]"`."""
