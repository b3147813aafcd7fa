"""Shard and recompute together: the problem of KIWI."""
