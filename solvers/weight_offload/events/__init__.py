"""Weight offloading by its exact model over events: orders of events, their times, the method."""
