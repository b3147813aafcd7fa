"""Profiler of PyTorch models as graphs: traced operators with durations and memory."""
