"""Studies: grids of solves declared in a file, run in child processes, with results as a table."""
