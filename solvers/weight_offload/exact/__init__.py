"""The exact search for offloaded weights."""
