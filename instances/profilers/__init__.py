"""Profilers: instances measured by running a model, in PyTorch or JAX."""
