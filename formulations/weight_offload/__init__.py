"""Models of offloaded weights."""
