"""Schedules of sharded graphs: strategies and recomputation, and their tables."""
