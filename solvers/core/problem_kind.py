"""Kind of problem: everything about a problem that is used outside its own column."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from jettison.instances.core.instance import Instance
from jettison.instances.core.instance_kind import Facts
from jettison.schedules.core.replay import Replay
from jettison.schedules.core.schedule_class import ScheduleClass
from jettison.schedules.core.schedule_kind import ScheduleKind
from jettison.solvers.core.bound import Bound
from jettison.solvers.core.method import Method
from jettison.solvers.core.model_files import ModelFiles
from jettison.solvers.core.outcome import Infeasibility, SolveOptions
from jettison.solvers.core.problem import Problem
from jettison.solvers.core.resources import Resources

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

    from jettison.solvers.proof.certificate import Certificate

P = TypeVar("P", bound=Problem)
P_contra = TypeVar("P_contra", bound=Problem, contravariant=True)


@dataclass(frozen=True, slots=True)
class Reference:
    """Reference to which the times of schedules are compared.

    Attributes
    ----------
    time_ns
        The time of a step.
    without
        What the step does not have, such as ``"recomputation"``.
    """

    time_ns: int
    without: str


@dataclass(frozen=True, slots=True)
class Conversion:
    """Conversion of an instance of another kind into one of the problem's own kind.

    Attributes
    ----------
    kind
        The kind of the given instance.
    convert
        Converts it into an instance of the problem's own kind.
    note
        Returns a note on what the conversion changes.
    """

    kind: str
    convert: Callable[[Any], Instance]
    note: Callable[[Any], str]


class Certifier(Protocol[P_contra]):
    """Function that makes certificates of the lower bounds of a problem."""

    def __call__(
        self,
        problem: P_contra,
        bounds: Sequence[Bound],
        infeasibility: Infeasibility | None,
        options: SolveOptions,
    ) -> Certificate | None:
        """Return a checked certificate of the largest bound, or of the best claim below it.

        Parameters
        ----------
        problem
            The problem.
        bounds
            The bounds that methods found.
        infeasibility
            Their proof that nothing fits, if there is one; it is then certified instead.
        options
            Options; the time limit is for the certificate alone.

        Returns
        -------
        Certificate or None
            None where nothing could be proved in the time.
        """
        ...


def _without_recomputation(problem: Problem) -> Reference:
    return Reference(problem.base_time_ns, "recomputation")


def _memory_over_time(replay: Replay, title: str) -> Figure:
    from jettison.schedules.core.memory_plot import plot_memory

    return plot_memory(replay, title=title)


@dataclass(frozen=True, kw_only=True)
class ProblemKind(Generic[P]):
    """Kind of problem, with all functions that are used outside its column.

    Functions that need heavy modules import them when they are called.

    Attributes
    ----------
    name
        Its name on the command line, and in files.
    summary
        One line for a person: what is asked.
    problem
        The type of the problems.
    instances
        The types of the instances that it takes.
    schedules
        The kinds of schedules that `replay` takes; its own is the first.
    pose
        Makes a problem of an instance and of resources that have been checked.
    replay
        Judges a schedule within the memory of a problem.
    methods
        Returns its methods, the default one first.
    takes
        Those of ``bandwidth``, ``transfers``, ``models``, ``devices``, ``microbatches``,
        ``weight_copies``, ``chunks`` and ``host_memory`` that it uses.
    needs
        The resources that must be given, ``memory`` among them.
    narrow_class
        The class of schedules for which methods prove bounds beside those for all schedules. The
        least memory of a proof of infeasibility belongs to it.
    conversion
        The conversion of instances of another kind, if there is one.
    facts
        Returns the numbers of an instance that only this problem computes, for `jettison show`.
    reference
        Returns the reference to which the times of its schedules are compared.
    states_gap_of_step
        Whether people compare its gaps as shares of the whole time: these are shown first then.
    transfers
        How transfers use memory, where a problem leaves that open.
    in_full
        Returns resources with the defaults of a problem written out.
    spent
        Returns the overheads of a step, by names that end in ``_ns``; None without a replay.
    certify
        Makes certificates; None where there are none.
    model_files
        Returns the formulations that are written to files; None where there are none.
    picture
        Draws a replay of a schedule, with a title.
    grid
        Draws a second picture of a schedule, its grid of recomputations say, with a title; None if
        there is none.
    table
        Returns a table of a schedule, a row for each part; None if there is none.
    printed
        Returns columns and rows that are printed below the answer; None if there are none.
    """

    name: str
    summary: str
    problem: type[P]
    instances: tuple[type[Any], ...]
    schedules: tuple[ScheduleKind[Any], ...]
    pose: Callable[[Any, Resources], P]
    replay: Callable[[P, Any], Replay]
    methods: Callable[[], Sequence[Method[P]]]
    takes: frozenset[str] = frozenset()
    needs: frozenset[str] = frozenset({"memory"})
    narrow_class: ScheduleClass = ScheduleClass.ALL
    conversion: Conversion | None = None
    facts: Callable[[Any], Facts] = lambda _: {}
    reference: Callable[[P], Reference] = _without_recomputation
    states_gap_of_step: bool = False
    transfers: Callable[[P], str | None] = lambda _: None
    in_full: Callable[[Resources, P], Resources] = lambda resources, _: resources
    spent: Callable[[Replay | None], Mapping[str, int | None]] = lambda _: {}
    certify: Certifier[P] | None = None
    model_files: Callable[[], ModelFiles[P]] | None = None
    picture: Callable[[Any, str], Figure] = _memory_over_time
    grid: Callable[[P, Any, str], Figure] | None = None
    table: Callable[[P, Any], pd.DataFrame] | None = None
    printed: Callable[[Any], tuple[Sequence[str], Sequence[Sequence[str]]]] | None = None

    @property
    def instance_kinds(self) -> frozenset[str]:
        """The kinds of instances that it takes, as they are or converted."""
        converted = set() if self.conversion is None else {self.conversion.kind}
        return frozenset(converted | {item.kind for item in self.instances})

    def own(self, instance: Instance) -> Instance:
        """Return an instance, converted into the problem's own kind if need be."""
        if self.conversion is not None and instance.kind == self.conversion.kind:
            return self.conversion.convert(instance)
        return instance

    def note_on(self, instance: Instance) -> str | None:
        """Return a note on the conversion of an instance; None if it needs none."""
        if self.conversion is not None and instance.kind == self.conversion.kind:
            return self.conversion.note(instance)
        return None
