"""Parts of a training step that runs by a chain schedule: its plan, its chain, its run."""
