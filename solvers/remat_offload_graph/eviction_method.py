r"""no-recompute and greedy: values that make room for others by a fixed rule.

Each plan is decoded from choices (`eviction`); the replay times all of them, and the fastest is the
answer.

* no-recompute moves every value that has to go. The rules differ in the weight of the distance to
  the next use (even, by size, by the root of the size, by the inverse of the size) and in how early
  copies are issued.
* greedy has the same rules, and computes again the values whose own time is below a share of their
  time on the link both ways, for several shares: 0, which is no-recompute, to infinity.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

from jettison.instances.remat_offload_graph.problem import RematOffloadGraph
from jettison.solvers.core.clock import Clock
from jettison.solvers.core.ending import Ending
from jettison.solvers.core.outcome import Outcome, SolveOptions
from jettison.solvers.core.status import Termination
from jettison.solvers.remat_offload_graph.eviction import EvictionChoices, decoded
from jettison.solvers.remat_offload_graph.incumbent import LinkedIncumbent
from jettison.solvers.remat_offload_graph.least_memory import linked_infeasibility

_EXPONENTS = (0.0, 1.0, 0.5, -1.0)
_LEADS = (1.0, 2.0, 0.0)
_SHARES = (0.0, 0.25, 0.5, 1.0, 2.0, float("inf"))


def solve_without_recomputation(problem: RematOffloadGraph, options: SolveOptions) -> Outcome:
    """Return the fastest plan found that computes each node once, in the order of the graph.

    On a link that moves every value it finds one wherever any schedule fits.
    """
    return _fastest(problem, options, (0.0,), "no plan without recomputation was found that fits")


def solve_greedy(problem: RematOffloadGraph, options: SolveOptions) -> Outcome:
    """Return the fastest plan of all rules; see the docstring of the module."""
    return _fastest(problem, options, _SHARES, "no rule leads to a plan that fits")


def _fastest(
    problem: RematOffloadGraph, options: SolveOptions, shares: Sequence[float], note: str
) -> Outcome:
    clock = Clock(options.time_limit_s)
    refused = linked_infeasibility(problem)
    if refused is not None:
        return Outcome(termination=Termination.COMPLETED, infeasibility=refused)
    incumbent = LinkedIncumbent(problem, options, clock)
    with Ending() as ending:
        for choices in choices_of_rules(problem, range(len(problem.instance)), shares):
            schedule = decoded(problem, choices)
            if schedule is not None:
                incumbent.offer(schedule)
            if incumbent.is_optimal:
                break
            clock.require_time()
    return incumbent.outcome(
        ending.termination,
        work={"plans": incumbent.offered},
        note=note if incumbent.schedule is None else None,
    )


def choices_of_rules(
    problem: RematOffloadGraph, computations: Sequence[int], shares: Sequence[float]
) -> Iterator[EvictionChoices]:
    """Yield the choices of all rules for computations in an order; each choice once."""
    seen: set[EvictionChoices] = set()
    for share, exponent, lead in itertools.product(shares, _EXPONENTS, _LEADS):
        choices = EvictionChoices(
            tuple(computations),
            cheap_to_compute(problem, share),
            weights_of_sizes(problem, exponent),
            lead,
        )
        if choices not in seen:
            seen.add(choices)
            yield choices


def cheap_to_compute(problem: RematOffloadGraph, share: float) -> frozenset[int]:
    """Return the nodes that take less than a share of their time on the link both ways.

    What is computed once is not among them; what cannot be moved is, whatever the share.
    """
    graph, link = problem.instance, problem.link
    again = [i for i in range(len(graph)) if i not in graph.computed_once]
    if link is None:
        return frozenset(again)
    return frozenset(
        i
        for i in again
        if (i not in problem.movable and share)
        or graph.nodes[graph.operators[i]].duration_ns
        < share * 2 * link.transfer_ns(graph.nodes[i].output_bytes)
    )


def weights_of_sizes(problem: RematOffloadGraph, exponent: float) -> tuple[float, ...]:
    """Return weights of values: their sizes to a power."""
    return tuple(float(max(node.output_bytes, 1)) ** exponent for node in problem.instance.nodes)
