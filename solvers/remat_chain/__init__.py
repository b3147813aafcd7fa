"""Methods for chains: rotor, revolve, the search over all schedules."""
