"""Formulations of 3-PARTITION."""
