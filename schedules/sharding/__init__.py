"""Choices of a strategy for every node."""
