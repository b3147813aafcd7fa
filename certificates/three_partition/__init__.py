"""Certificates of 3-PARTITION: their formulations."""
