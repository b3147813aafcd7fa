"""Graphs traced from PyTorch models: operators with durations and memory."""
