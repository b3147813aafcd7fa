"""Lower bounds on the time of a step with offloaded weights."""
