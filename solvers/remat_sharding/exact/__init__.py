"""The exact search for strategies and recomputation together."""
