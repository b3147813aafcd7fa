"""Schedules of chains that recompute."""
