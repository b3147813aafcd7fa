"""Sharded graphs, and the problem of choosing strategies and recomputation together."""
