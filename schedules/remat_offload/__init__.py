"""Schedules of chains with transfers to the host, and their replays."""
