"""One budget: a chain whose activations, weights, gradients and optimizer states share a memory."""
