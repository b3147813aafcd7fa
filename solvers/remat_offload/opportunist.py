r"""opportunist: offload whenever the link is idle, and recompute the rest.

Source: POFO, Section 5.1. The forward operations run one after the other. Whenever the link is idle
a *group* starts: its first stage :math:`b` runs as ``F_all``, and :math:`a^{b-1}` and
:math:`\bar a^b` are offloaded, in this order; the other stages of the group drop their inputs. As
soon as the stages left fit in the memory beside their input, they are saved in memory: the *tail*.
Its backward operations come first, then the groups from last to first. A group runs the fastest
persistent schedule of the stages after :math:`b` beside :math:`a^{b-1}` and :math:`\bar a^b`, and
then the backward of :math:`b`.

Two choices that the paper leaves open: groups are formed as if no forward had to wait for memory,
which it does later in the executor; and the input of the tail stays if it is a plain :math:`a`. A
copy takes time, so that a group has a second stage unless its :math:`\bar a` has no size. There is
no schedule if no tail fits, if a group does not fit beside its two tensors, or if an operation does
not fit beside all that cannot leave.
"""

from __future__ import annotations

from jettison.instances.core.link import Link
from jettison.instances.remat_chain.chain import Chain
from jettison.instances.remat_offload.problem import RematOffloadChain
from jettison.schedules.remat_chain.contents import Tensor, TensorKind
from jettison.schedules.remat_chain.schedule import (
    ChainOperation,
    ChainOperationKind,
    ChainSchedule,
)
from jettison.schedules.remat_offload.plan import OffloadPlan
from jettison.solvers.core.clock import Clock
from jettison.solvers.core.ending import Ending
from jettison.solvers.core.outcome import Outcome, SolveOptions
from jettison.solvers.core.status import Termination
from jettison.solvers.remat_chain.needs import ChainNeeds
from jettison.solvers.remat_chain.rotor_exact import SEARCH_GRID, SearchGridParams
from jettison.solvers.remat_chain.subchain import subchain_operations
from jettison.solvers.remat_offload.executor import execute_gaps
from jettison.solvers.remat_offload.incumbent import OffloadIncumbent
from jettison.solvers.remat_offload.tensor_lifetimes import TensorLifetimes

ALL = ChainOperationKind.FORWARD_ALL
CHECKPOINT = ChainOperationKind.FORWARD_CHECKPOINT
NONE = ChainOperationKind.FORWARD_NONE
BACKWARD = ChainOperationKind.BACKWARD


def opportunist_plan(
    chain: Chain,
    link: Link,
    memory_bytes: int,
    time_limit_s: float | None = None,
    params: SearchGridParams = SEARCH_GRID,
) -> OffloadPlan | None:
    """Choose the groups and the tail, and recompute within the groups; None where none fits.

    Notes
    -----
    Time :math:`O(N^2)` beside the programs of the groups.
    """
    clock = Clock(time_limit_s)
    choice = _forward(chain, link, memory_bytes)
    if choice is None:
        return None
    operations, groups, tail = choice
    stages = range(tail, len(chain) + 1)
    operations.extend(ChainOperation(ALL, number) for number in stages)
    operations.extend(ChainOperation(BACKWARD, number) for number in reversed(stages))
    needs = ChainNeeds(chain)
    offloaded: list[Tensor] = []
    last = tail - 1
    for first in reversed(groups):
        kept = (_input_of(first, groups), Tensor(TensorKind.SAVED, first))
        offloaded.extend(kept)
        beside_bytes = sum(tensor.size_bytes(chain) for tensor in kept)
        available_bytes = memory_bytes - beside_bytes
        inner = subchain_operations(needs, first + 1, last, available_bytes, clock.left_s, params)
        if inner is None:
            return None
        operations.extend((*inner, ChainOperation(BACKWARD, first)))
        last = first - 1
    return OffloadPlan(ChainSchedule(tuple(operations)), tuple(offloaded))


def solve_opportunist(
    problem: RematOffloadChain, options: SolveOptions, params: SearchGridParams = SEARCH_GRID
) -> Outcome:
    """Return opportunist's schedule, if it finds one that fits."""
    incumbent = OffloadIncumbent(problem, options, Clock(options.time_limit_s))
    with Ending() as ending:
        offer_opportunist(incumbent, options.time_limit_s, params)
    if not ending.termination.is_regular:
        return Outcome(termination=ending.termination)
    return Outcome(
        termination=Termination.COMPLETED,
        schedule=incumbent.schedule,
        note=None if incumbent.schedule else "opportunist's sequence does not fit in this memory",
    )


def offer_opportunist(
    incumbent: OffloadIncumbent,
    time_limit_s: float | None,
    params: SearchGridParams = SEARCH_GRID,
) -> None:
    """Offer opportunist's plan, executed at once and, where transfers are fluid, as it is.

    Raises
    ------
    TimeoutError
        If the time is over.
    MemoryError
        If the table of a group does not fit in memory.
    """
    problem = incumbent.problem
    chain, link, memory_bytes = problem.instance, problem.link, problem.memory_bytes
    plan = opportunist_plan(chain, link, memory_bytes, time_limit_s, params)
    if plan is None:
        return
    lifetimes = TensorLifetimes(chain, plan.computations)
    gaps = [lifetimes.gap_at_turn(tensor) for tensor in plan.offloaded]
    execution = execute_gaps(lifetimes, gaps, link, memory_bytes)
    if execution is not None:
        incumbent.offer(execution.schedule)
    incumbent.offer_fluid(plan)


def _forward(
    chain: Chain, link: Link, memory_bytes: int
) -> tuple[list[ChainOperation], list[int], int] | None:
    """Return the operations before the tail, and the first stages of the groups and the tail."""
    operations: list[ChainOperation] = []
    groups: list[int] = []
    now_ns = link_ns = 0
    for number in range(1, len(chain) + 1):
        given = _input_of(number, groups)
        if _store_all_bytes(chain, number, given) <= memory_bytes:
            return operations, groups, number
        forward_ns = chain.stage(number).forward_ns
        if not groups or link_ns <= now_ns:
            link_ns = max(link_ns, now_ns) + link.transfer_ns(given.size_bytes(chain))
            groups.append(number)
            saved = Tensor(TensorKind.SAVED, number)
            now_ns += forward_ns
            link_ns = max(link_ns, now_ns) + link.transfer_ns(saved.size_bytes(chain))
            operations.append(ChainOperation(ALL, number))
        else:
            now_ns += forward_ns
            kind = CHECKPOINT if given.kind is TensorKind.SAVED else NONE
            operations.append(ChainOperation(kind, number))
    return None


def _input_of(number: int, groups: list[int]) -> Tensor:
    """Return what the first forward of a stage reads."""
    return Tensor(TensorKind.SAVED if number - 1 in groups else TensorKind.PLAIN, number - 1)


def _store_all_bytes(chain: Chain, first: int, given: Tensor) -> int:
    """Return the peak of saving everything from a stage on, with only its input beside it."""
    beside_bytes = given.size_bytes(chain) - chain.activation_bytes(first - 1)
    return chain.saving_peak_bytes(first) + beside_bytes
