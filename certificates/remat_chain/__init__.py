"""What certificates of chains claim, and how it is checked."""
