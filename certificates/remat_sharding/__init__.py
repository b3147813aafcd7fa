"""What certificates of sharded graphs claim, and how it is checked."""
