"""Fronts of a trace: from a step that is written in Python to one that can be traced."""
