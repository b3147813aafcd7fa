"""Formulations of recomputation on graphs: Checkmate's, and smaller ones."""
