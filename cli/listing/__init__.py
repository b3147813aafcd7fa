"""jettison list: its command, the filters of instances, the parameters of methods."""
