"""Models of strategies and recomputation together."""
