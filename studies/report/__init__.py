"""Report of a study: one page that needs no network, with all of its results."""
