"""Lower bounds of one budget: of all tensors together, and of activations or weights alone."""
