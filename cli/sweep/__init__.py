"""jettison sweep: its command and its progress."""
