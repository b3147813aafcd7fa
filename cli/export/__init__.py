"""`jettison export` and `export-policy`: models for solvers, and policies for frameworks."""
