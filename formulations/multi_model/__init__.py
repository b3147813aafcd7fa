"""Formulations of the multi-model problem: training several models on one device."""
