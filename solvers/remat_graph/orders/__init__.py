"""Schedules and bounds that leave the order of a graph open."""
