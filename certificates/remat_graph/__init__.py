"""What certificates of graphs claim, and how it is checked."""
