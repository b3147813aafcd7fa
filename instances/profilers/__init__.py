"""Instances measured by running a model: the PyTorch chain profiler and the bundled data set."""
