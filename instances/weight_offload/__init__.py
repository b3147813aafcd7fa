"""Problem of training a chain with offloaded weights, as a cycle of operations that repeats."""
