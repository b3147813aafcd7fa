"""Programs for developers, run from a checkout; they are in no wheel."""
