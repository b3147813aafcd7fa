"""Problem of a step within an arena: every buffer has a place in one block of memory."""
