"""The report of a study: one page that needs no network, with everything that its results say."""
