"""Certificates of graphs: their formulations."""
