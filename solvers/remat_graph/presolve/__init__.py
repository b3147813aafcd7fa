"""Graphs made smaller before they are solved."""
