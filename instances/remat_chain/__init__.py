"""Chains of stages, and the problem of training one in limited memory, by recomputing."""
