"""Plan of a joint graph: its schedule, and what the solver knows of it."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from fractions import Fraction

from jettison.instances.core.card import Resident
from jettison.instances.core.memory import Amount, Memory, amount_or_share, bytes_of
from jettison.instances.profilers.torch_graphs.joint.joint_graph import JointGraph
from jettison.instances.remat_graph.problem import RematGraph
from jettison.schedules.remat_graph.schedule import GraphSchedule
from jettison.solvers.core.answers.gap import gap_of
from jettison.solvers.core.outcome import SolveOptions
from jettison.solvers.core.result import Result
from jettison.solvers.core.solve import solve_with
from jettison.torch.accepted_replay import accepted_replay
from jettison.torch.compilation.no_plan import least_schedule, no_plan_error


@dataclass(frozen=True, slots=True, kw_only=True)
class Planning:
    """Way in which plans are found.

    Attributes
    ----------
    memory
        Limit on the peak: bytes, a share of the peak without recomputation, or a card.
    method, time_limit_s, gap
        As in `solve`.
    most_moves
        Limit on the work of methods that count it, as in `SolveOptions`.
    """

    memory: Memory | str | int
    method: str | None = None
    time_limit_s: float | None = 600.0
    gap: float = 0.0
    most_moves: int | None = 14_000_000

    def limit_bytes(self, joint: JointGraph) -> int:
        """Return the limit on within that is counted, in bytes."""

        def peak() -> int:
            return store_all_bytes(joint)

        memory = amount_or_share(
            self.memory,
            peak,
            "write an amount (4GiB) or a share of the peak (60%)",
            lambda: Resident.recorded(joint.graph.resident_bytes),
        )
        return bytes_of(memory, peak)


@dataclass(frozen=True, slots=True)
class SolvedPlan:
    """Schedule of a joint graph, confirmed by the replay.

    Attributes
    ----------
    schedule
        The schedule.
    limit_bytes
        The limit on within that is counted.
    predicted_peak_bytes
        The peak by the replay, with what is no node of the graph (`JointGraph.reserve_bytes`).
    time_ns, base_time_ns
        Time of a step by the replay, and without recomputation.
    bound_ns
        Lower bound on the time of schedules of the class `bound_class`; None if there is none.
    bound_class
        Name of that class.
    """

    schedule: GraphSchedule
    limit_bytes: int
    predicted_peak_bytes: int
    time_ns: int
    base_time_ns: int
    bound_ns: int | None
    bound_class: str | None

    @property
    def overhead(self) -> float:
        """Recomputation as a share of the step without it."""
        return float(Fraction(self.time_ns - self.base_time_ns, max(1, self.base_time_ns)))

    @property
    def gap(self) -> float | None:
        """Share of the recomputation that the bound leaves open; None without a bound."""
        if self.bound_ns is None:
            return None
        return gap_of(self.time_ns, self.bound_ns, self.base_time_ns)


def store_all_bytes(joint: JointGraph) -> int:
    """Return the peak of a joint graph without recomputation."""
    return joint.graph.store_all_peak_bytes + joint.reserve_bytes


def solve_plan(joint: JointGraph, planning: Planning) -> SolvedPlan:
    """Find a schedule of a joint graph within a limit.

    Raises
    ------
    InputError
        If none was found: the message says how much memory plans need, and how much would do.
    """
    limit = planning.limit_bytes(joint)
    plan, result = _solve_within(joint, planning, limit, joint.reserve_bytes)
    if plan is not None and plan.predicted_peak_bytes > limit:
        # States of the generator are needed only where something draws again.
        every = joint.reserve_bytes + joint.states_bytes()
        plan, result = _solve_within(joint, planning, limit, every)
    if plan is None:
        # Another search, which looks for little memory and not for little time.
        schedule, enough = least_schedule(joint)
        if enough > limit:
            raise no_plan_error(joint, limit, result, enough)
        plan = _plan(joint, limit, schedule, result)
    return plan


def _solve_within(
    joint: JointGraph, planning: Planning, limit: int, reserve: int
) -> tuple[SolvedPlan | None, Result]:
    for_nodes = max(0, limit - reserve)
    options = SolveOptions(
        time_limit_s=planning.time_limit_s, gap=planning.gap, most_moves=planning.most_moves
    )
    problem = RematGraph(joint.graph, Amount(for_nodes))
    result = solve_with(problem, planning.method, options)
    if not isinstance(result.schedule, GraphSchedule):
        return None, result
    return _plan(joint, limit, result.schedule, result), result


def _plan(joint: JointGraph, limit: int, schedule: GraphSchedule, result: Result) -> SolvedPlan:
    within = Amount(max(0, limit - joint.reserve_bytes))
    replay = accepted_replay(RematGraph(joint.graph, within), schedule)
    bound = result.bound
    return SolvedPlan(
        schedule=schedule,
        limit_bytes=limit,
        predicted_peak_bytes=replay.peak_bytes
        + joint.reserve_bytes
        + states_bytes(joint, schedule),
        time_ns=replay.time_ns,
        base_time_ns=joint.graph.base_time_ns,
        bound_ns=None if bound is None else bound.time_ns,
        bound_class=None if bound is None else str(bound.valid_for),
    )


def states_bytes(joint: JointGraph, schedule: GraphSchedule) -> int:
    """Return the size of the states of the generator that a schedule needs."""
    repeats = Counter(schedule.computations)
    return joint.states_bytes(node for node, times in repeats.items() if times > 1)
