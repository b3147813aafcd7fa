"""Methods for strategies and recomputation together."""
