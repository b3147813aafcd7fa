"""Joint graphs of forward and backward passes, as ``torch.compile`` makes them."""
