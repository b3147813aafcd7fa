"""3-PARTITION solved, and certificates that there is none."""
