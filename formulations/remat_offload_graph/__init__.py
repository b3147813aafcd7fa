"""Formulations of recomputation and offloading on graphs."""
