"""Models of graphs: Checkmate's, and those with fewer rows."""
