"""Methods for chains with a link to the host."""
