"""Policies: what frameworks can be told to save, each optimised in its own class."""
