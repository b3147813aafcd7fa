"""Weight offloading schedules made from 3-partitions, and back."""
