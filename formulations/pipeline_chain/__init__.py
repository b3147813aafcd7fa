"""Formulations of pipelines of devices."""
