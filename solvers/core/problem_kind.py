"""A kind of problem: all that the rooms above its column have to know of it."""

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
    """What the times of schedules are compared to.

    Attributes
    ----------
    time_ns
        The time of a step.
    without
        What that step does without: ``"recomputation"``.
    """

    time_ns: int
    without: str


@dataclass(frozen=True, slots=True)
class Conversion:
    """How a problem takes an instance of another kind: as one of its own.

    Attributes
    ----------
    kind
        The kind of what is given.
    convert
        Makes an instance of the problem's own kind of it.
    note
        Says what changes with that.
    """

    kind: str
    convert: Callable[[Any], Instance]
    note: Callable[[Any], str]


class Certifier(Protocol[P_contra]):
    """Makes certificates of the lower bounds of a problem."""

    def __call__(
        self,
        problem: P_contra,
        bounds: Sequence[Bound],
        infeasibility: Infeasibility | None,
        options: SolveOptions,
    ) -> Certificate | None:
        """Return a certificate, checked, of the largest of these bounds, or of the best below.

        Parameters
        ----------
        problem
            What the bounds are of.
        bounds
            What methods found.
        infeasibility
            Their proof that nothing fits, if they found one; then this is what is certified.
        options
            Its time limit is that of the certificate alone.

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
    """One kind of problem, with everything that is asked of it outside its column.

    What needs heavy modules is a function that imports them when it is called.

    Attributes
    ----------
    name
        Its name on the command line, and in files.
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
        Which of ``bandwidth``, ``transfers`` and ``models`` mean something to it.
    needs
        Which resources have to be given, ``memory`` among them.
    narrow_class
        The class of schedules for which methods prove bounds beside those for all schedules. The
        least memory of a proof of infeasibility belongs to it.
    conversion
        How it takes instances of another kind, if it does.
    facts
        What is shown of an instance beside what its own kind says: what this problem asks of it.
    reference
        What the times of its schedules are compared to.
    transfers
        How transfers use memory, where a problem leaves that open.
    in_full
        Returns resources with the defaults of a problem written out.
    spent
        What a step spends, and on what, by names that end in ``_ns``; of no replay, None.
    certify
        Makes certificates; None where there are none.
    model_files
        Returns the formulations that are written to files; None where there are none.
    picture
        Draws a replay of a schedule, with a title.
    grid
        Draws what is done where, of a problem, a schedule and a title; None if there is no such
        picture.
    table
        Returns a table of a schedule, a row for each part; None if there is none.
    """

    name: str
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
    transfers: Callable[[P], str | None] = lambda _: None
    in_full: Callable[[Resources, P], Resources] = lambda resources, _: resources
    spent: Callable[[Replay | None], Mapping[str, int | None]] = lambda _: {}
    certify: Certifier[P] | None = None
    model_files: Callable[[], ModelFiles[P]] | None = None
    picture: Callable[[Any, str], Figure] = _memory_over_time
    grid: Callable[[P, Any, str], Figure] | None = None
    table: Callable[[P, Any], pd.DataFrame] | None = None

    def own(self, instance: Instance) -> Instance:
        """Return an instance as a problem of this kind has it."""
        if self.conversion is not None and instance.kind == self.conversion.kind:
            return self.conversion.convert(instance)
        return instance

    def note_on(self, instance: Instance) -> str | None:
        """Say what changes as an instance is converted; None if it is not."""
        if self.conversion is not None and instance.kind == self.conversion.kind:
            return self.conversion.note(instance)
        return None
