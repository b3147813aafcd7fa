"""Best sets of saved values: what is not saved is computed again, once, in the backward pass."""
