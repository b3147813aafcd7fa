r"""Rounding of all of Checkmate's relaxation at random, R as well as S: what does not work.

Source: Checkmate (Jain et al., MLSys 2020, Section 5.1), where none of 50 000 such roundings of
VGG16 is a schedule; its two-phase rounding (`lp_rounding`) rounds S only. Each column of R and S
becomes 1 with its share in the solution of the linear relaxation as probability. A row
(dependency) or (checkpoint) of `jettison.formulations.remat_graph.checkmate` that does not hold
then means that something is computed from values that are nowhere. Where all hold, the roundings of
R are a schedule, which frees as early as it can and still may not fit.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from jettison.formulations.milp.from_pulp import from_pulp
from jettison.formulations.remat_graph.checkmate import Checkmate
from jettison.instances.remat_graph.problem import RematGraph
from jettison.schedules.remat_graph.schedule import GraphSchedule
from jettison.solvers.core.status import SolverError
from jettison.solvers.milp.highs import solve_model
from jettison.solvers.milp.highs_options import HighsOptions

# Draws that are looked at together.
_BLOCK = 1000


@dataclass(frozen=True, slots=True)
class NaiveRoundings:
    """Count of random roundings that are schedules.

    Attributes
    ----------
    draws
        Roundings that were looked at.
    fractional
        Columns of R and S that are neither 0 nor 1 in the relaxation.
    valid
        Roundings in which all rows (dependency) and (checkpoint) hold.
    fitting
        Those of them that fit in the memory.
    fewest_violated
        Rows that do not hold in the best rounding.
    """

    draws: int
    fractional: int
    valid: int
    fitting: int
    fewest_violated: int


def count_naive_roundings(problem: RematGraph, draws: int, seed: int) -> NaiveRoundings:
    """Solve the relaxation, and count the random roundings of all of it that are schedules.

    Parameters
    ----------
    problem
        A graph, and a memory in which the relaxation has a solution.
    draws, seed
        Number of roundings, at least 1, and the seed.

    Raises
    ------
    SolverError
        If the relaxation has no solution.

    Notes
    -----
    :math:`O(n |E|)` for each draw, besides the linear program.
    """
    graph = problem.instance
    count = len(graph)
    model = from_pulp(Checkmate().build(problem).problem).model.relaxed()
    solution = solve_model(model, HighsOptions())
    if solution.values is None:
        raise SolverError(f"the relaxation of {graph.name} has no solution in this memory")
    shares = solution.by_name(model)
    computed = np.zeros((count, count))
    stored = np.zeros((count + 1, count))
    for t in range(count):
        computed[t, : t + 1] = [shares[f"R_{t}_{i}"] for i in range(t + 1)]
        stored[t, :t] = [shares[f"S_{t}_{i}"] for i in range(t)]
    for i, node in enumerate(graph.nodes):
        stored[count, i] = node.keep
    random = np.random.default_rng(seed)
    violated: list[int] = []
    plans = Counter[tuple[int, ...]]()
    while len(violated) < draws:
        block = min(_BLOCK, draws - len(violated))
        R = random.random((block, *computed.shape)) < computed  # noqa: N806
        S = random.random((block, *stored.shape)) < stored  # noqa: N806
        found = _violated(graph.inputs, R, S)
        violated.extend(found.tolist())
        # The columns of a stage in order: those of R row by row.
        plans.update(tuple(np.nonzero(one)[1].tolist()) for one in R[found == 0])
    both = np.concatenate([computed.ravel(), stored.ravel()])
    return NaiveRoundings(
        draws=draws,
        fractional=int(((both > 0) & (both < 1)).sum()),
        valid=violated.count(0),
        fitting=sum(times for plan, times in plans.items() if _fits(problem, plan)),
        fewest_violated=min(violated),
    )


def _fits(problem: RematGraph, computations: tuple[int, ...]) -> bool:
    schedule = GraphSchedule.from_computations(problem.instance, computations)
    return schedule.replay(problem.instance).peak_bytes <= problem.memory_bytes


def _violated(
    inputs: tuple[tuple[int, ...], ...],
    R: NDArray[np.bool_],  # noqa: N803
    S: NDArray[np.bool_],  # noqa: N803
) -> NDArray[np.int64]:
    """Return the number of violated rows of each rounding; shapes (k, n, n) and (k, n + 1, n)."""
    # A stage begins with what was computed or stored in the one before; the first with nothing.
    checkpoint = S[:, 1:] & ~(R | S[:, :-1])
    violated: NDArray[np.int64] = checkpoint.sum(axis=(1, 2)) + S[:, 0].sum(axis=1)
    for node, sources in enumerate(inputs):
        for source in sources:
            missing = R[:, :, node] & ~(R[:, :, source] | S[:, :-1, source])
            violated += missing.sum(axis=1)
    return violated
