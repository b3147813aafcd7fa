"""Lower bounds on the time of training several models."""
