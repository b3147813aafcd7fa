"""Address plans for buffers, and schedules whose plans fit in an arena."""
