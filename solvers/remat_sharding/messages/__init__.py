"""Bounds and plans from messages over graphs of states."""
