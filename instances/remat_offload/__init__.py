"""Problem of training a chain in limited memory by recomputing and offloading activations."""
