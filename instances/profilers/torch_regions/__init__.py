"""Training steps in PyTorch with checkpointed regions, call by call."""
