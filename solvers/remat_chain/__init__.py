"""Recompute on a chain: rotor, its relatives, and the search over all schedules."""
