"""Schedules of chains: operations, drops, replay and pictures."""
