"""Generators: instances made from parameters and a seed, some with a known answer."""
