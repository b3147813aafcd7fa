"""Schedules of models that train together."""
