"""Training steps of several models fused into one, with durations from assumed device rates."""
