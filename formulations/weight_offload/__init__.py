"""Formulations of weight offloading."""
