"""Searches for good choices of strategies."""
