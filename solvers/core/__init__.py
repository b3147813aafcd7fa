"""Shared parts of all solvers: options, outcomes, results, registry; independent of any problem."""
