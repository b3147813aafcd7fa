"""What every method uses, whatever its problem."""
