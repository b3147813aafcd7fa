"""Plans of remat-graph under ``torch.compile``: joint graphs cut into forward and backward."""
