"""Actions: a schedule of a traced step as a flat list of functions on registers."""
