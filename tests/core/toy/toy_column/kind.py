"""The problem: a shelf and its memory, with an exact method, a greedy one, and all it needs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

from jettison.instances.core.memory import Amount, Memory, Share, parse_memory
from jettison.schedules.core.replay import Replay
from jettison.schedules.core.schedule_class import ScheduleClass
from jettison.solvers.core.bound import Bound, Evidence
from jettison.solvers.core.method import Method, Promise
from jettison.solvers.core.outcome import Outcome, SolveOptions
from jettison.solvers.core.problem_kind import ProblemKind
from jettison.solvers.core.resources import Resources
from jettison.solvers.core.status import Termination
from toy_column.keeping import KEEPING, Keeping
from toy_column.shelf import Shelf


@dataclass(frozen=True)
class Toy:
    """Compute every value twice, or keep it, within memory in the least time."""

    problem = "toy"
    link = None

    instance: Shelf
    memory: str | int | Memory

    def __post_init__(self) -> None:
        object.__setattr__(self, "memory", parse_memory(self.memory))

    @property
    def base_time_ns(self) -> int:
        return self.instance.base_time_ns

    @cached_property
    def memory_bytes(self) -> int:
        if isinstance(self.memory, Share):
            return int(self.memory.of_peak * sum(size for size, _ in self.instance.values))
        assert isinstance(self.memory, Amount)
        return self.memory.size_bytes


def solve_exact(problem: Toy, options: SolveOptions) -> Outcome:
    """Try every choice of what is kept."""
    places = range(len(problem.instance))
    every = (Keeping(kept) for count in places for kept in combinations(places, count + 1))
    fitting = [choice for choice in (Keeping(()), *every) if _replay(problem, choice).valid]
    best = min(fitting, key=lambda choice: _replay(problem, choice).time_ns)
    bound = Bound(
        time_ns=_replay(problem, best).time_ns,
        valid_for=ScheduleClass.ALL,
        evidence=Evidence.EXACT,
        method="exact",
    )
    return Outcome(termination=Termination.COMPLETED, schedule=best, bounds=(bound,))


def solve_greedy(problem: Toy, options: SolveOptions) -> Outcome:
    """Keep the values that take longest, one after the other, as long as they fit."""
    kept: list[int] = []
    values = problem.instance.values
    for place in sorted(range(len(values)), key=lambda place: -values[place][1]):
        if _replay(problem, Keeping((*kept, place))).valid:
            kept.append(place)
    return Outcome(termination=Termination.COMPLETED, schedule=Keeping(tuple(sorted(kept))))


METHODS = (
    Method("exact", Promise.EXACT, "this file", "every choice", solve=solve_exact),
    Method("greedy", Promise.HEURISTIC, "this file", "longest first", solve=solve_greedy),
)


def _replay(problem: Toy, schedule: Keeping) -> Replay:
    return schedule.replay(problem.instance, problem.memory_bytes)


def _pose(shelf: Shelf, resources: Resources) -> Toy:
    return Toy(shelf, resources.memory_text)


def _methods() -> Sequence[Method[Toy]]:
    return METHODS


TOY = ProblemKind(
    name=Toy.problem,
    summary="what to keep on a shelf",
    problem=Toy,
    instances=(Shelf,),
    schedules=(KEEPING,),
    pose=_pose,
    replay=_replay,
    methods=_methods,
)
