"""Planners of frameworks and libraries: what is saved and what is recomputed, by their rules."""
