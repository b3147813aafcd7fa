"""HiGHS: array models solved in time, exact dual bounds, tolerances."""
