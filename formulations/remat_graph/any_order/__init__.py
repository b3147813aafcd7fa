"""Formulations on graphs that leave the order of first computations open."""
