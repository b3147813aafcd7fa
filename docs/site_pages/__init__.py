"""The pages of the site that are made from the sources, and names in docstrings as links."""
