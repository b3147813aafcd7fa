"""The greedy schedulers of the paper on weight offloading."""
