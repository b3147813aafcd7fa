"""Algorithms: dynamic programs, baselines, the HiGHS engine, and flows that combine models."""
