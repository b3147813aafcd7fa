"""Recordings of PyTorch: execution traces and Kineto traces as graphs and chains."""
