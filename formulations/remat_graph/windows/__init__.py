"""Formulations on graphs with a fixed order, over windows between cuts."""
