"""Training in one budget: a chain whose weights, states and activations run by a schedule."""
