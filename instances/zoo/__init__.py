"""Model zoo: networks as chains (``nn.Sequential`` in PyTorch), with weights from a seed."""
