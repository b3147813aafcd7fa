"""jettison verify: schedules, certificates and sets of instances."""
