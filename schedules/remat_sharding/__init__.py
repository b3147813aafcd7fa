"""Sharded schedules: strategies and recomputation, their replay, tables and pictures."""
