"""Certificates of strategy graphs: their formulations."""
