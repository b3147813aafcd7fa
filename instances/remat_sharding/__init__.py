"""Sharded graphs: a strategy for each operator and recomputation in one problem."""
