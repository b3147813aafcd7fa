"""The exact search for strategies."""
