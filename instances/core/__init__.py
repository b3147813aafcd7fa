"""Shared parts of all instances: protocol, registry, files, hashes, names, units, errors."""
