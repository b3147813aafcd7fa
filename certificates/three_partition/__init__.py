"""What certificates of 3-PARTITION claim, and how it is checked."""
