"""Profilers of sharded steps: the strategies of each operator, measured on one device."""
