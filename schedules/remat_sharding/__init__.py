"""Schedules of sharded graphs that recompute."""
