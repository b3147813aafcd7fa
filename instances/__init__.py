"""Instances: chains, graphs and models to train, with their files, importers and profilers."""
