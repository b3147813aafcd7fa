"""Schedules of chains that move weights to the host, step after step."""
