"""Profiler of PyTorch models as chains: durations and memory of their stages."""
