"""The exact search by cuts: models of windows, bounds, rounds."""
