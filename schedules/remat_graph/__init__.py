"""Schedules of graphs that recompute."""
