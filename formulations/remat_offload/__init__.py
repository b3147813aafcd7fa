"""Models of chains with a link to the host."""
