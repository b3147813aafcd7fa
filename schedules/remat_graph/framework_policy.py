"""Policy: what a framework is told to save in a training step, and its file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any, Self

from jettison.instances.core.errors import InputError
from jettison.instances.core.json_file import check_header, check_schema, read_json, write_json
from jettison.instances.remat_graph.graph import Graph
from jettison.schedules.core.replay import Replay


class PolicyTarget(StrEnum):
    """Framework that follows a policy.

    ``torch-sac``
        Eager selective checkpointing of modules, one decision for each operator call.
    ``torch-knapsack``
        The knapsack solver of the memory budget of PyTorch's partitioner.
    ``joint-graph``
        Marks on the nodes of a joint graph, which PyTorch's partitioner respects.
    ``torchtitan``
        A memory policy of torchtitan's graph trainer.
    ``jax``
        Names for ``jax.checkpoint_policies``: what is saved, what moves to the host.
    """

    TORCH_SAC = "torch-sac"
    TORCH_KNAPSACK = "torch-knapsack"
    JOINT_GRAPH = "joint-graph"
    TORCHTITAN = "torchtitan"
    JAX = "jax"

    @property
    def policy_class(self) -> PolicyClass:
        """Class of the policies that the framework can follow."""
        if self is PolicyTarget.TORCH_SAC:
            return PolicyClass.SAVED_CALLS
        return PolicyClass.ONCE_AGAIN


class PolicyClass(StrEnum):
    """Class of policies, by what happens in the step.

    ``saved calls of regions``
        Each region runs again as a whole when the backward pass first needs it, without the calls
        that are saved (`saved_calls_schedule`).
    ``once again, late``
        Forward operators that are not saved run once more, right before the backward pass first
        needs them (`lazy_schedule`).
    """

    SAVED_CALLS = "saved calls of regions"
    ONCE_AGAIN = "once again, late"


@dataclass(frozen=True, slots=True)
class PolicyBound:
    """Lower bound on the time of a step: the schedules for which it holds, and its evidence."""

    time_ns: int
    valid_for: str
    evidence: str

    def to_json(self) -> dict[str, object]:
        """Return the bound as a JSON object."""
        return {"time_ns": self.time_ns, "valid_for": self.valid_for, "evidence": self.evidence}


@dataclass(frozen=True, slots=True)
class RegionDecisions:
    """Decisions for the calls of a module: their operators, and which of them are saved."""

    module: str
    operators: tuple[str, ...]
    saved: tuple[int, ...]
    draws: bool

    def __post_init__(self) -> None:
        for place, number in enumerate(self.saved):
            if not 0 <= number < len(self.operators):
                raise InputError(
                    f"call {number} of {len(self.operators)}",
                    field=f"saved[{place}]",
                    expected="give positions of calls, from 0",
                )

    def to_json(self) -> dict[str, object]:
        """Return the decisions as a JSON object."""
        return {
            "module": self.module,
            "operators": list(self.operators),
            "saved": list(self.saved),
            "draws": self.draws,
        }


@dataclass(frozen=True, kw_only=True)
class Policy:
    """Policy for a framework, with what the replay says of the step that it makes.

    Attributes
    ----------
    target
        The framework.
    instance, instance_sha256
        Name and hash of the graph that it was made for.
    memory_bytes
        The memory that was asked for.
    time_ns, peak_bytes
        Time and peak of the step, by the replay.
    base_time_ns
        Time of the step in which nothing runs again.
    bounds
        Lower bounds on the time, for the class of the policy and for more schedules.
    decisions
        For each operator by name, whether it runs again; empty for regions.
    regions
        Decisions for regions; empty for others.
    offloaded
        Of the operators that do not run again, those whose values move to the host; for JAX.
    is_settled
        Whether the search that found it came to its end, and not to a limit; in no file.
    """

    target: PolicyTarget
    instance: str
    instance_sha256: str
    memory_bytes: int
    time_ns: int
    peak_bytes: int
    base_time_ns: int
    bounds: tuple[PolicyBound, ...]
    decisions: Mapping[str, bool] = field(default_factory=dict)
    regions: tuple[RegionDecisions, ...] = ()
    offloaded: frozenset[str] = frozenset()
    is_settled: bool = field(default=True, compare=False)

    @property
    def overhead(self) -> float:
        """Time of what runs again, as a share of the step without it."""
        return self.time_ns / self.base_time_ns - 1 if self.base_time_ns else 0.0

    def to_json(self) -> dict[str, object]:
        """Return the policy as the JSON document of its file."""
        document: dict[str, object] = {
            "format": "jettison",
            "kind": "policy",
            "version": 1,
            "target": str(self.target),
            "class": str(self.target.policy_class),
            "instance": self.instance,
            "instance_sha256": self.instance_sha256,
            "memory_bytes": self.memory_bytes,
            "time_ns": self.time_ns,
            "peak_bytes": self.peak_bytes,
            "base_time_ns": self.base_time_ns,
            "bounds": [bound.to_json() for bound in self.bounds],
        }
        if self.regions:
            document["regions"] = [region.to_json() for region in self.regions]
        else:
            document["decisions"] = {
                name: self._word(name, again) for name, again in self.decisions.items()
            }
        return document

    def _word(self, name: str, again: bool) -> str:
        if name in self.offloaded:
            return "offload"
        return "recompute" if again else "save"

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Self:
        """Build the policy from parsed JSON that has passed the schema."""
        regions = []
        for place, entry in enumerate(document.get("regions", [])):
            try:
                regions.append(
                    RegionDecisions(
                        module=entry["module"],
                        operators=tuple(entry["operators"]),
                        saved=tuple(entry["saved"]),
                        draws=entry["draws"],
                    )
                )
            except InputError as error:
                raise error.within(prefix=f"regions[{place}]") from None
        return cls(
            target=PolicyTarget(document["target"]),
            instance=document["instance"],
            instance_sha256=document["instance_sha256"],
            memory_bytes=document["memory_bytes"],
            time_ns=document["time_ns"],
            peak_bytes=document["peak_bytes"],
            base_time_ns=document["base_time_ns"],
            bounds=tuple(PolicyBound(**entry) for entry in document["bounds"]),
            decisions={
                name: word == "recompute" for name, word in document.get("decisions", {}).items()
            },
            regions=tuple(regions),
            offloaded=frozenset(
                name for name, word in document.get("decisions", {}).items() if word == "offload"
            ),
        )


def policy_of_replay(
    target: PolicyTarget,
    graph: Graph,
    memory_bytes: int,
    replay: Replay,
    bounds: tuple[PolicyBound, ...],
    *,
    decisions: Mapping[str, bool] | None = None,
    regions: tuple[RegionDecisions, ...] = (),
    is_settled: bool = True,
) -> Policy:
    """Return the policy whose step has been replayed."""
    return Policy(
        target=target,
        instance=graph.name,
        instance_sha256=graph.sha256,
        memory_bytes=memory_bytes,
        time_ns=replay.time_ns,
        peak_bytes=replay.peak_bytes,
        base_time_ns=graph.base_time_ns,
        bounds=bounds,
        decisions=decisions or {},
        regions=regions,
        is_settled=is_settled,
    )


def save_policy(policy: Policy, path: str | Path) -> None:
    """Write a policy file; it appears complete or not at all.

    Raises
    ------
    InputError
        If the folder does not exist or cannot be written.
    """
    write_json(policy.to_json(), Path(path))


def load_policy(path: str | Path) -> Policy:
    """Read a policy file.

    Raises
    ------
    InputError
        If the file is no policy, or a value contradicts another; the field is named.
    """
    source = str(path)
    document = read_json(Path(path))
    check_header(document, {"policy": 1}, source)
    check_schema(document, "jettison.schedules", "policy.schema.json", source)
    try:
        return Policy.from_json(document)
    except InputError as error:
        raise error.within(source=source) from None
