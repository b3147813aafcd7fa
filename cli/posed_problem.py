"""From the words of a command to a problem."""

from __future__ import annotations

import sys

from jettison.instances.catalog import load
from jettison.instances.remat_chain.chain import Chain
from jettison.instances.remat_graph.chain_to_graph import graph_memory_bytes
from jettison.instances.remat_graph.problem import RematGraph
from jettison.solvers.core.outcome import Problem
from jettison.solvers.core.pose import Resources, check_problem_name, pose_problem


def make_problem(problem: str, instance: str, resources: Resources) -> Problem:
    """Load the instance and make the problem.

    Raises
    ------
    InputError
        If the problem is unknown, the instance cannot be loaded, or as `pose_problem` says.
    """
    check_problem_name(problem)
    loaded = load(instance)
    posed = pose_problem(problem, loaded, resources)
    if isinstance(loaded, Chain) and problem == RematGraph.problem:
        sys.stderr.write(
            f"note: {loaded.name} is a chain; using its graph, whose limit and peaks are larger "
            f"by {graph_memory_bytes(loaded, 0)} bytes\n"
        )
    return posed
