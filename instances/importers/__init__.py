"""Readers of the instance files that other projects publish."""
