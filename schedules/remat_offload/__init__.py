"""Schedules of chains that recompute and move activations to the host."""
