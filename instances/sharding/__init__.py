"""Strategy graphs, and the problem of choosing one strategy for each node."""
