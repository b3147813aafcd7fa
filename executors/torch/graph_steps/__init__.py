"""Parts of a training step that runs by a graph schedule: its trace, its plan, its run."""
