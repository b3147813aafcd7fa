"""Graphs of operations, and the problem of running one in limited memory, by recomputing."""
