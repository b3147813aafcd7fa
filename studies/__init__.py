"""Many solves: a grid declared in a file, run in child processes, its results as a table."""
