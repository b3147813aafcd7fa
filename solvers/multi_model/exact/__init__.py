"""The exact search for one unit and for all divisions into units."""
