"""Heuristics for graphs from the literature."""
