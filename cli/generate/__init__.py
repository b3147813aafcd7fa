"""jettison generate: instances from families, networks and random draws."""
