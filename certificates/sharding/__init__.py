"""What certificates of strategies claim, and how it is checked."""
