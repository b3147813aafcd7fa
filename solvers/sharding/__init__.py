"""Methods for choosing strategies."""
