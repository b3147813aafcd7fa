"""Executor of decisions: order, prefetches and sources of a unit's operations."""
