"""Models as chains of stages: ``nn.Sequential`` in PyTorch, with random weights from a seed."""
