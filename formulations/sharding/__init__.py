"""Formulations of sharding: one strategy for each node."""
