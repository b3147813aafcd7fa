"""Graphs of operations, and the problem of executing one in limited memory."""
