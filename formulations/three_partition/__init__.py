"""Models of 3-PARTITION."""
