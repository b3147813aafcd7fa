"""Job of a study: one solve, and the key under which its result is kept."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from functools import cached_property
from importlib import metadata
from typing import Any

from jettison.instances.catalog import Instance
from jettison.instances.core.card import card_text
from jettison.instances.core.content_hash import content_sha256
from jettison.instances.core.link import link_keys
from jettison.solvers.core.outcome import Progress, SolveOptions
from jettison.solvers.core.pose import pose_problem
from jettison.solvers.core.problem import Problem
from jettison.solvers.core.registry import kind_of
from jettison.solvers.core.resources import Resources
from jettison.studies.study import Cell

# Of pipelines, of hosts with a limit and of cards; absent where a problem has none.
_OF_SOME_PROBLEMS = (
    "devices",
    "microbatches",
    "weight_copies",
    "chunks",
    "host_memory",
    "card",
    "resident",
)


@dataclass(frozen=True, kw_only=True)
class Job:
    """One solve for a child process: problem, instance, method and options.

    Attributes
    ----------
    problem, method
        Their names.
    instance, instance_sha256
        Name and hash of the instance.
    resources
        As the study writes them, with the default of what it leaves open.
    memory_bytes, bandwidth_bytes_per_s, total_bandwidth_bytes_per_s
        What they come to; the link is None where there is none, and the total of both directions
        None where they do not share one.
    time_limit_s, gap, threads, seed
        As in `SolveOptions`.
    versions
        Of the packages that the answer depends on.
    certify
        Whether a certificate of the best bound is wanted as well.
    params
        The parameters of the method that are not the default ones.
    """

    problem: str
    method: str
    instance: str
    instance_sha256: str
    resources: Resources
    memory_bytes: int
    bandwidth_bytes_per_s: int | None
    time_limit_s: float
    gap: float
    threads: int
    seed: int
    versions: Mapping[str, str]
    total_bandwidth_bytes_per_s: int | None = None
    certify: bool = False
    params: Mapping[str, object] = field(default_factory=dict)

    @classmethod
    def of(cls, cell: Cell, instance: Instance, versions: Mapping[str, str]) -> Job:
        """Return the job of a point of a grid.

        Raises
        ------
        InputError
            If the problem does not go with the instance or the resources.
        """
        posed = pose_problem(cell.problem, instance, cell.resources)
        link = posed.link
        options = cell.options
        assert options.time_limit_s is not None
        return cls(
            problem=cell.problem,
            method=cell.method,
            instance=instance.name,
            instance_sha256=instance.sha256,
            resources=kind_of(posed).in_full(cell.resources, posed),
            memory_bytes=posed.memory_bytes,
            **link_keys(link),
            time_limit_s=options.time_limit_s,
            gap=options.gap,
            threads=options.threads,
            seed=options.seed,
            versions=versions,
            certify=cell.certify,
            params=dict(cell.params),
        )

    @cached_property
    def key(self) -> str:
        """Hash of all that the answer depends on; how it is written does not count."""
        content = self.to_json()
        resources = content["resources"]
        assert isinstance(resources, dict)
        content["resources"] = {
            key: resources[key]
            for key in ("transfers", "models", *_OF_SOME_PROBLEMS)
            if key in resources
        }
        del content["instance"]
        return content_sha256(content)

    @property
    def label(self) -> str:
        """The job in a few words."""
        given = self.resources
        card = given.card and card_text(given.card, given.resident)
        parts = [given.memory, given.alpha and f"alpha={given.alpha}", card, given.bandwidth]
        words = " ".join(part for part in parts if part)
        return f"{self.problem} {self.instance} {words} {self.method}".replace("  ", " ")

    def posed(self, instance: Instance) -> Problem:
        """Return the problem to solve."""
        return pose_problem(self.problem, instance, self.resources)

    def options(self, on_progress: Callable[[Progress], None] | None = None) -> SolveOptions:
        """Return the options to solve it with."""
        return SolveOptions(
            time_limit_s=self.time_limit_s,
            gap=self.gap,
            threads=self.threads,
            seed=self.seed,
            on_progress=on_progress,
        )

    def to_json(self) -> dict[str, object]:
        """Return the job as a JSON object."""
        document = asdict(self)
        document["versions"] = dict(self.versions)
        # The keys of jobs without these are those from before there were any.
        resources = document["resources"]
        for key in _OF_SOME_PROBLEMS:
            if resources[key] is None:
                del resources[key]
        if self.total_bandwidth_bytes_per_s is None:
            del document["total_bandwidth_bytes_per_s"]
        if not self.certify:
            del document["certify"]
        if not self.params:
            del document["params"]
        return document

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Job:
        """Return the job of a JSON object that `to_json` made."""
        return cls(**{**document, "resources": Resources(**document["resources"])})


def present_versions() -> dict[str, str]:
    """Return the versions of the packages that answers depend on."""
    names = ("jettison", "highspy", "numpy", "pulp", "pyomo", "scipy")
    return {name: metadata.version(name) for name in names}
