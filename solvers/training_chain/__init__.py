"""Methods of one budget: baselines, a joint local search, and bounds."""
