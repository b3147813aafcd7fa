"""Recompute and offload activations on a chain: POFO and its relatives."""
