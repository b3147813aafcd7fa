"""Certificates of weight offloading: their formulations."""
