"""Formulations of recomputation on chains."""
