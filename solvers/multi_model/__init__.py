"""Train several models on one device: the problem of µ-TWO."""
