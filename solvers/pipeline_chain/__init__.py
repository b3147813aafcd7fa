"""Cut a chain into a pipeline, with optimal recomputation on each device."""
