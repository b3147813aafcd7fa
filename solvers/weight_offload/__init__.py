"""Offload the weights of a chain."""
