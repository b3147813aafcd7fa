"""Models of chains."""
