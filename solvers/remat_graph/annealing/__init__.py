"""Annealing of schedules of graphs."""
