"""Certificates of chains: their formulations, and the dynamic programs of their bounds."""
