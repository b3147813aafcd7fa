"""Lower bound model on the time of one training unit of fused models."""
