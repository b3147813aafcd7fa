"""Certificates of sharded graphs: their formulations."""
