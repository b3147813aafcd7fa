"""The problem of training a chain whose weights are offloaded, as a cycle of operations."""
