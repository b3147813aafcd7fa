"""Schedules that repeat: events of a cycle, their replay and picture."""
