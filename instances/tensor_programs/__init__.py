"""Tensor programs and their sharding: axes, meshes, strategies, sharded graphs."""
