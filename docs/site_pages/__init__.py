"""Generated pages of the site, made from the sources, and links for names in docstrings."""
