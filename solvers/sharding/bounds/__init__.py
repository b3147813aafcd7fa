"""Lower bounds on the cost of a choice of strategies."""
