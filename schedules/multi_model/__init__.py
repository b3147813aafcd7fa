"""Schedules that train several models: units, their replay and picture."""
