"""From the tensors of a training step to a sharded graph: axes, meshes, strategies."""
