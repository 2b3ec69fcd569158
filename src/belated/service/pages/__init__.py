"""The dashboard: pages that a browser shows, made of the same results as the API."""
