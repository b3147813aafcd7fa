r"""exact: the fastest of all schedules of a small graph with a link, by search over moments.

A state is one moment of a schedule: what has been computed, which values are on the device and on
the host, and what runs on the three lanes (computations, copies to the host, copies from there)
with the time that is left of it. The search is A*: the state with the least estimate goes first,
the time that has passed plus what is still to come, which is the larger of

* the time of all nodes that have not been computed, and
* the time on the link of values that have to come back, for they cannot be computed again.

Nothing is lost by the following. All durations are integers, and starting everything as early as
its order allows leaves starts only at moments at which something ends. A deletion may wait until a
start lacks the memory, and then only deletions that are all needed for that start are made: the
others may wait further. What has no size is never in the way: it is neither freed nor moved. A
value that is in memory is not computed, and one that has a copy is not copied again. A value that
is *dead* goes at once, is not moved and not computed: it is not kept, and each node that reads it
has been computed and is dead itself or is computed once. The search knows results of operators
without a value, and that they come right after these (`LinkedStep`).

So the first state in which everything has been computed and kept ends the fastest schedule: a proof
in exact integers. If the search ends before, by its time or its states, the least estimate left is
a bound. Exponential in the number of nodes; graphs of at most 32 nodes.

On a link that both directions share the search looks at the full-duplex link of that rate, on which
no schedule is slower: its time is a bound, and its schedule is timed on the shared link.

Without a link, larger graphs are left to remat-graph's exact method.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from jettison.instances.core.link import Link
from jettison.instances.remat_offload_graph.problem import RematOffloadGraph
from jettison.schedules.core.schedule_class import ScheduleClass
from jettison.schedules.remat_graph.schedule import GraphOperation, GraphOperationKind
from jettison.schedules.remat_offload_graph.schedule import OffloadGraphSchedule
from jettison.schedules.remat_offload_graph.value_transfer import (
    ValueTransfer,
    ValueTransferKind,
)
from jettison.solvers import _kernels
from jettison.solvers.core.bound import exact_bound
from jettison.solvers.core.clock import Clock
from jettison.solvers.core.ending import Ending
from jettison.solvers.core.outcome import Infeasibility, Outcome, SolveOptions
from jettison.solvers.core.params import Params
from jettison.solvers.core.status import Termination
from jettison.solvers.remat_graph.baselines.simple import store_all_schedule
from jettison.solvers.remat_graph.kernel_arrays import graph_arrays
from jettison.solvers.remat_offload_graph.baselines import solve_without_transfers
from jettison.solvers.remat_offload_graph.everything_away import everything_offloaded
from jettison.solvers.remat_offload_graph.eviction import decoded
from jettison.solvers.remat_offload_graph.eviction_method import choices_of_rules
from jettison.solvers.remat_offload_graph.incumbent import LinkedIncumbent
from jettison.solvers.remat_offload_graph.least_memory import linked_infeasibility

# What the kernel has room for: sets of nodes are 32 bits.
MOST_NODES = 32
_NO_LIMIT_NS = 2**62
# Of the rules whose plans the search begins from.
_SHARES = (0.0, 0.5, 2.0)
_COMPUTE, _OFFLOAD, _PREFETCH = 1, 2, 3


@dataclass(frozen=True, kw_only=True)
class MomentSearchParams(Params):
    """Parameters of the search over moments: its memory.

    Attributes
    ----------
    most_states
        States after which it stops, of about 150 bytes each.
    """

    most_states: int = 4_000_000


MOMENT_SEARCH = MomentSearchParams()


def solve_linked_exact(
    problem: RematOffloadGraph,
    options: SolveOptions,
    params: MomentSearchParams = MOMENT_SEARCH,
) -> Outcome:
    """Return the fastest of all schedules, or the proof that none fits."""
    clock = Clock(options.time_limit_s)
    refused = linked_infeasibility(problem)
    if refused is not None:
        return Outcome(termination=Termination.COMPLETED, infeasibility=refused)
    graph = problem.instance
    if problem.link is None and len(graph) > MOST_NODES:
        return solve_without_transfers(problem, options)
    incumbent = LinkedIncumbent(problem, options, clock)
    incumbent.offer(OffloadGraphSchedule.without_transfers(store_all_schedule(graph)))
    if problem.link is not None:
        incumbent.offer(everything_offloaded(problem))
    # The search goes no further than a schedule that is known.
    for choices in choices_of_rules(problem, range(len(graph)), _SHARES):
        plan = None if incumbent.is_optimal or not clock.left_s else decoded(problem, choices)
        if plan is not None:
            incumbent.offer(plan)
    if incumbent.is_optimal:
        return incumbent.outcome(Termination.COMPLETED, work={"states": 0})
    if len(graph) > MOST_NODES:
        return incumbent.outcome(
            Termination.MEMORY_LIMIT,
            work={"states": 0},
            note=f"the search is for graphs of {MOST_NODES} nodes or fewer, and this one has "
            f"{len(graph)}; use moment-bound and anneal",
        )
    found = MomentsSeen(Termination.INTERRUPTED, 0)
    with Ending():
        found = search_moments(problem, incumbent, clock, params.most_states)
    note = None
    if problem.link is not None and problem.link.is_shared and not incumbent.is_best:
        note = "the link is shared: the bound is that of the full-duplex link"
    return incumbent.outcome(
        found.termination,
        work={"states": found.states},
        infeasibility=found.infeasibility,
        note=note,
    )


@dataclass(frozen=True, slots=True)
class MomentsSeen:
    """End of a search over moments.

    Attributes
    ----------
    termination, states
        Why it stopped, and how many states it looked at.
    infeasibility
        The proof that nothing fits, or None.
    """

    termination: Termination
    states: int
    infeasibility: Infeasibility | None = None


def search_moments(
    problem: RematOffloadGraph, incumbent: LinkedIncumbent, clock: Clock, most_states: int
) -> MomentsSeen:
    """Search for schedules that are faster than the incumbent, and tell it what is found.

    Parameters
    ----------
    problem
        A problem with a graph of at most `MOST_NODES` nodes.
    incumbent
        It is offered a schedule, and proves the bound.
    clock
        The time that is left.
    most_states
        States after which the search stops.
    """
    link = None if problem.link is None else problem.link.full_duplex
    search = moment_search(problem, link)
    upper_ns = incumbent.time_ns or _NO_LIMIT_NS
    with Ending() as ending:
        limit_s = None if math.isinf(clock.left_s) else clock.left_s
        search.run(most_states, upper_ns, limit_s)
        if not search.is_over:
            ending.termination = Termination.MEMORY_LIMIT
    if ending.is_interrupted:
        raise KeyboardInterrupt
    if search.time_ns is not None:
        incumbent.offer(schedule_of(search.steps))
    if search.is_over and search.time_ns is None and incumbent.schedule is None:
        proved = Infeasibility(
            valid_for=ScheduleClass.ALL,
            least_memory_bytes=problem.memory_bytes + 1,
            is_exact=False,
        )
        return MomentsSeen(Termination.COMPLETED, search.states, proved)
    bound_ns = search.time_ns
    if bound_ns is None:
        bound_ns = upper_ns if search.is_over else min(search.bound_ns, upper_ns)
    if bound_ns < _NO_LIMIT_NS:
        incumbent.prove(exact_bound(bound_ns, ScheduleClass.ALL, "exact"))
    return MomentsSeen(ending.termination, search.states)


def moment_search(problem: RematOffloadGraph, link: Link | None) -> _kernels.LinkedMoments:
    """Return the kernel's search for a problem on a full-duplex link, before its first state."""
    graph = problem.instance
    arrays = graph_arrays(graph)
    places = range(len(graph))
    return _kernels.LinkedMoments(
        duration_ns=arrays["duration_ns"],
        output_bytes=arrays["output_bytes"],
        workspace_bytes=arrays["workspace_bytes"],
        copy_ns=np.array(
            [0 if link is None else link.transfer_ns(node.output_bytes) for node in graph.nodes],
            dtype=np.int64,
        ),
        movable=np.array([i in problem.movable for i in places], dtype=np.uint8),
        keep=arrays["keep"],
        again=arrays["again"],
        token=np.array([not node.has_value for node in graph.nodes], dtype=np.uint8),
        input_start=arrays["input_start"],
        inputs=arrays["inputs"],
        memory_bytes=problem.memory_bytes,
    )


def schedule_of(steps: Sequence[tuple[int, int, int]]) -> OffloadGraphSchedule:
    """Return the schedule of what the kernel's search issued."""
    found: list[GraphOperation | ValueTransfer] = []
    for freed, action, node in steps:
        found += [
            GraphOperation(GraphOperationKind.FREE, place)
            for place in range(freed.bit_length())
            if freed >> place & 1
        ]
        if action == _COMPUTE:
            found.append(GraphOperation(GraphOperationKind.COMPUTE, node))
        elif action == _OFFLOAD:
            found.append(ValueTransfer(ValueTransferKind.OFFLOAD, node))
        elif action == _PREFETCH:
            found.append(ValueTransfer(ValueTransferKind.PREFETCH, node))
    return OffloadGraphSchedule(tuple(found))
