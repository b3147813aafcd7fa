"""Certificates of lower bounds for chains."""
