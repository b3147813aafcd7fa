"""Policies that PyTorch itself follows: selective checkpointing, partitioner, annotations."""
