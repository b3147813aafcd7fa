"""Formulations of recomputation and offloading on chains."""
