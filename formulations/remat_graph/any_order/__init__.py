"""Models of graphs that leave the order open."""
