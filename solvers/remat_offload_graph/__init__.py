"""Recompute and offload values of a graph."""
