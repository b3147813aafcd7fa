"""The cut bound for chains with a link."""
