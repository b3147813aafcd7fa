"""Formulations of sharding and recomputation together."""
