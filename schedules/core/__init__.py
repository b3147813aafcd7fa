"""Shared parts of all schedules: replays, schedule classes, violations, files, pictures."""
