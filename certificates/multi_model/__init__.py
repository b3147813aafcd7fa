"""Formulation of training several models, as the checker reads it."""
