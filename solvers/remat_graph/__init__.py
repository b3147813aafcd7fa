"""Recompute on a graph: the problem of Checkmate."""
