"""µ-TWO, its algorithms in the order of the paper."""
