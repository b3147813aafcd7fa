"""Graphs of strategies, and the problem of choosing one for each node."""
