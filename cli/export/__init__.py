"""jettison export: models as files for other solvers."""
