"""What certificates of offloaded weights claim, and how it is checked."""
