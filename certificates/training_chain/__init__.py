"""Formulations of training-chain."""
