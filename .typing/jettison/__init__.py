"""jettison."""
