"""Formulations: models as the papers write them, and array models made to be fast."""
