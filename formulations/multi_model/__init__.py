"""Models of training several models."""
