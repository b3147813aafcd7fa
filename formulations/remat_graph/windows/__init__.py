"""Models of graphs over windows of stages."""
