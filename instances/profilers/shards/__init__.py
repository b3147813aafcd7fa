"""Strategies of sharded steps, measured on one device."""
