"""jettison compare: its command and its picture."""
