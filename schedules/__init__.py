"""Schedules: the answers to problems, with the independent replays that judge them."""
