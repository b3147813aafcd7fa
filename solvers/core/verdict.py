"""Verdict on a problem's best time and on a schedule for it, from bounds and certificates."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from jettison.instances.core.card import card_keys
from jettison.instances.core.errors import InputError
from jettison.instances.core.link import link_keys
from jettison.schedules.core.replay import Replay
from jettison.schedules.core.schedule_class import ScheduleClass
from jettison.solvers.core.answers.gap import gap_of
from jettison.solvers.core.answers.summary import as_html, as_text, verdict_rows
from jettison.solvers.core.bound import Bound, Evidence, best_bound, largest_bound
from jettison.solvers.core.certified import (
    certificate_for,
    certified_bound,
    empty_classes,
    proof_to_certify,
    refutation,
)
from jettison.solvers.core.outcome import Infeasibility, SolveOptions
from jettison.solvers.core.problem import Problem
from jettison.solvers.core.registry import kind_of
from jettison.solvers.core.result import (
    Result,
    base_time_bound,
    bound_of_all_keys,
    certified_keys,
    versions_key,
)
from jettison.solvers.core.status import Termination

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from jettison.solvers.proof.certificate import Certificate


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """Bounds on a problem's best time, and the judgement of a schedule against them.

    Attributes
    ----------
    problem
        Instance and memory.
    replay
        The replay of the schedule that was given, valid or not; None if none was given.
    results
        What the methods that bound the problem found.
    certificate
        A checked certificate of a bound, or of the fact that nothing fits; None where none was
        asked for (`certified`) or could be made.
    certified_bound
        The bound that the certificate proves; None without a certificate, or if it proves that
        nothing fits.
    """

    problem: Problem
    replay: Replay | None
    results: tuple[Result, ...]
    certificate: Certificate | None = None
    certified_bound: Bound | None = None

    @property
    def bounds(self) -> list[Bound]:
        """All bounds that are known, and hold for the schedule if a valid one was given."""
        bounds = [bound for result in self.results for bound in result.bounds]
        bounds.append(base_time_bound(self.problem))
        if self.certified_bound is not None:
            bounds.append(self.certified_bound)
        if self.replay is None or not self.replay.valid:
            return bounds
        schedule_class = self.replay.schedule_class
        return [bound for bound in bounds if bound.valid_for.covers(schedule_class)]

    @property
    def bound(self) -> Bound | None:
        """The best bound that holds for the schedule; without one, the largest of all."""
        return largest_bound(self.bounds)

    @property
    def bound_of_all(self) -> Bound | None:
        """The best bound that holds for all schedules, whatever class the given one is of."""
        return best_bound(self.bounds, ScheduleClass.ALL)

    @property
    def found_bound(self) -> Bound | None:
        """The best bound that a method found, as `bound`, without that of a certificate."""
        return largest_bound(
            bound for bound in self.bounds if bound.evidence is not Evidence.CERTIFICATE
        )

    def certified(self, options: SolveOptions) -> Verdict:
        """Return the verdict with a certificate, of the best bound that could be proved in time.

        Of the bounds that hold for the schedule, if there is one. The time limit of `options` is
        the certificate's own. After a Ctrl-C nothing more is begun.
        """
        if any(result.termination is Termination.INTERRUPTED for result in self.results):
            return self
        has_schedule = self.replay is not None and self.replay.valid
        refuted = None if has_schedule else proof_to_certify(self.results)
        certificate = certificate_for(self.problem, self.bounds, refuted, options)
        if certificate is None:
            return self
        bound = certified_bound(self.problem, certificate)
        return replace(self, certificate=certificate, certified_bound=bound)

    @property
    def gap(self) -> float | None:
        """The share of a valid schedule's overhead that is open: see `solvers.core.answers.gap`."""
        if self.replay is None or not self.replay.valid or self.bound is None:
            return None
        return gap_of(self.replay.time_ns, self.bound.time_ns, self.problem.base_time_ns)

    @property
    def infeasible(self) -> Result | None:
        """The result that proves that no schedule fits, if one does (`refutation`).

        None if a schedule was given that fits.
        """
        if self.replay is not None and self.replay.valid:
            return None
        return refutation(self.results)

    @property
    def empty_classes(self) -> list[Infeasibility]:
        """Proofs that a class has no schedule that fits, which leave out other schedules."""
        if self.infeasible is not None:
            return []
        return empty_classes(self.results)

    @property
    def seconds(self) -> float:
        """Wall-clock time of all methods together."""
        return sum(result.seconds for result in self.results)

    @property
    def status(self) -> str:
        """``valid``, ``invalid``, ``infeasible...`` or ``bounded``."""
        if self.replay is not None:
            return "valid" if self.replay.valid else "invalid"
        return "bounded" if self.infeasible is None else self.infeasible.status

    def summary(self) -> str:
        """Return names and values, a line each: status, time, broken rules, bound and gap."""
        return as_text(verdict_rows(self))

    def _repr_html_(self) -> str:
        return as_html(verdict_rows(self))

    def plot(self, *, title: str | None = None) -> Figure:
        """Draw the schedule that was given over time, as ``jettison bound --plot`` does.

        Parameters
        ----------
        title
            Title; by default the name of the instance.

        Raises
        ------
        InputError
            If no schedule was given.
        """
        if self.replay is None:
            raise InputError(
                "no schedule was given",
                field="plot",
                expected="give one to `jettison.bound`, or draw the result of `jettison.solve`",
            )
        drawn = title or f"{self.problem.instance.name}: {self.status}"
        return kind_of(self.problem).picture(self.replay, drawn)

    def __repr__(self) -> str:
        """Say in one line what is known; the results would fill pages."""
        time_ns = None if self.replay is None else self.replay.time_ns
        return (
            f"<Verdict on {self.problem.problem} {self.problem.instance.name} in "
            f"{self.problem.memory_bytes} bytes: {self.status}, time_ns={time_ns}, "
            f"bound={self.bound}, gap={self.gap}>"
        )

    def to_json(self) -> dict[str, object]:
        """Return the keys that the command line prints; absent values are None."""
        proof = None if self.infeasible is None else self.infeasible.infeasibility
        least_bytes = None if proof is None else proof.least_memory_bytes
        peak_bytes = None if self.replay is None else self.replay.peak_bytes
        kind, link = kind_of(self.problem), self.problem.link
        return {
            "status": self.status,
            "problem": self.problem.problem,
            "instance": self.problem.instance.name,
            "instance_sha256": self.problem.instance.sha256,
            "memory_bytes": self.problem.memory_bytes,
            **card_keys(self.problem.memory, peak_bytes, least_bytes),
            **link_keys(link),
            "transfers": kind.transfers(self.problem),
            "method": None if self.bound is None else self.bound.method,
            "time_ns": None if self.replay is None else self.replay.time_ns,
            "peak_bytes": peak_bytes,
            "base_time_ns": self.problem.base_time_ns,
            "lower_bound_ns": None if self.bound is None else self.bound.time_ns,
            "evidence": None if self.bound is None else str(self.bound.evidence),
            "valid_for": None if self.bound is None else str(self.bound.valid_for),
            "schedule_class": None if self.replay is None else str(self.replay.schedule_class),
            **bound_of_all_keys(self.bound_of_all),
            **certified_keys(self.certified_bound),
            "gap": self.gap,
            **kind.spent(self.replay),
            "least_memory_bytes": least_bytes,
            "infeasible_for": None if proof is None else str(proof.valid_for),
            "empty_classes": [str(empty.valid_for) for empty in self.empty_classes],
            "needed_by": None if proof is None else proof.needed_by,
            "violations": []
            if self.replay is None
            else [str(violation) for violation in self.replay.violations],
            "seconds": round(self.seconds, 6),
            "versions": versions_key(
                {
                    package: version
                    for result in self.results
                    for package, version in result.solver_versions.items()
                }
            ),
        }
