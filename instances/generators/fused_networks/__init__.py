"""Training steps of networks, fused over models of one architecture, with assumed rates."""
