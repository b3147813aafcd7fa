"""Schedules of pipelines: stages for each device, their 1F1B replay, and their picture."""
