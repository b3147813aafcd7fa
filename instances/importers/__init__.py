"""Importers: readers of the instance files that other projects publish."""
