"""Problem of training a chain on a pipeline of devices."""
