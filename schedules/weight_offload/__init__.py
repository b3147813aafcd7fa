"""Cyclic schedules of weight offloading: events of a period, their replay and picture."""
