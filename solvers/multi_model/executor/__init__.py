"""From decisions to the operations of a unit: order, prefetches, sources."""
