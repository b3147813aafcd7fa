"""Methods for offloaded weights."""
