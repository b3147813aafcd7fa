"""Models of choosing strategies."""
