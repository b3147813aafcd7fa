"""`jettison export-policy`: what a framework is told to save, as JSON or as Python."""
