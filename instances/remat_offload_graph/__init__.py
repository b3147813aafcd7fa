"""Problem of running a step of a graph in limited memory by recomputing and by offloading."""
