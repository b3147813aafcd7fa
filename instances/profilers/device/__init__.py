"""Device that a profile is taken on: its name, its clock, its memory."""
