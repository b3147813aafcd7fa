"""Choices of strategies, and their picture."""
