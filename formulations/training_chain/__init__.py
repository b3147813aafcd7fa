"""Formulations of one budget: the linear bound on the time of a repeated training step."""
