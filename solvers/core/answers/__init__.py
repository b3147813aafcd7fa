"""Words and numbers of answers: gaps, rows of names and values, summaries."""
