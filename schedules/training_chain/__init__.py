"""Schedules of one budget: events of a period, their replay, files and pictures."""
