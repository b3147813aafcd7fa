"""Chains measured on PyTorch models: durations and memory of stages."""
