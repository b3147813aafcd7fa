"""jettison profile: its command, and the comparison with earlier profiles."""
