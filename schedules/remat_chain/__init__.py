"""Chain schedules: operations, drops, replay and pictures."""
