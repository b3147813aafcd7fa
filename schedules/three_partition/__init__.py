"""Schedules that a partition becomes."""
