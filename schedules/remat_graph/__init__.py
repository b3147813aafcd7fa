"""Schedules of graphs: values computed and dropped, and their picture."""
