"""Plan of a policy of names for ``jax.checkpoint``, and its file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any

import jax

from jettison.instances.core.errors import InputError
from jettison.instances.core.json_file import FORMAT, check_header, read_json, write_json
from jettison.instances.core.link import Link
from jettison.jax.named_program import LoopBodies, Policy
from jettison.schedules.remat_graph.framework_policy import Policy as ExportedPolicy

_KIND = "jax-policy"
_VERSION = 1
_MODEL_CLASS = (
    "saved sets of this graph, whose loops do what is said, with a peak of at most "
    "bound_limit_bytes by the replay: forward values are saved, or computed again once, right "
    "before their first reader in the backward pass"
)


def offload_class(link: Link) -> str:
    """Return the class of schedules that a bound with a link is about."""
    return (
        "offloaded sets of this graph, whose loops do what is said, with a peak of at most "
        "bound_limit_bytes by the replay: forward values are saved, moved to the host and back at "
        f"{link}, or computed again once, right before their first reader in the backward pass; "
        "computations do not wait for the link, which moves data out beside the first "
        "computations of the forward pass and back beside those of the backward pass"
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyPlan:
    """Plan of a policy of names: what is saved, and what that is predicted to take.

    Attributes
    ----------
    program_sha256
        Hash of the program of the loss, whose values the names are of.
    graph_sha256
        Hash of the graph of its step, with its durations.
    saved, offloaded
        Names of values that are saved, and that are moved to the host.
    is_plain
        True where the plain step keeps to the limit: it is left as it is.
    loops
        What loops do.
    model_limit_bytes
        The limit of the model that the plan was made for.
    predicted_peak_bytes, predicted_time_ns
        Peak and time of the schedule, by its exact replay on the graph.
    base_time_ns
        Time of the step without recomputation, on the graph.
    bound_limit_bytes, bound_ns
        No saved set of the graph whose peak by the replay is at most this makes a step faster than
        that: neither one that saves the separators nor one that does not. The limit is what was
        asked for, or the predicted peak where that is more; the bound is one of a floating-point
        solver. Other graphs, other fusions by XLA among them, have bounds of their own.
    valid_for
        The class of schedules that the bound is about.
    limit_bytes
        What was asked for: XLA's temporary memory.
    compiled_bytes, plain_compiled_bytes
        XLA's temporary memory of the step with the policy, and of the plain one; 0 where nothing
        was compiled.
    platform
        Platform that it was compiled for.
    """

    program_sha256: str
    graph_sha256: str
    saved: tuple[str, ...]
    offloaded: tuple[str, ...] = ()
    is_plain: bool = False
    loops: LoopBodies = LoopBodies.SAVED
    model_limit_bytes: int
    predicted_peak_bytes: int
    predicted_time_ns: int
    base_time_ns: int
    bound_limit_bytes: int
    bound_ns: int
    valid_for: str = _MODEL_CLASS
    limit_bytes: int
    compiled_bytes: int = 0
    plain_compiled_bytes: int = 0
    platform: str = ""

    @property
    def overhead(self) -> float:
        """Predicted time of what is computed again, as a share of the step."""
        return self.predicted_time_ns / self.base_time_ns - 1

    @property
    def least_overhead(self) -> float:
        """Overhead that no saved set of the graph within `bound_limit_bytes` is below."""
        return self.bound_ns / self.base_time_ns - 1

    @property
    def holds(self) -> bool | None:
        """Whether XLA's analysis keeps to the limit; None where nothing was compiled."""
        return None if self.compiled_bytes == 0 else self.compiled_bytes <= self.limit_bytes

    def policy(self) -> Policy | None:
        """Return the policy for ``jax.checkpoint``; None if the step is left as it is."""
        if self.is_plain:
            return None
        if not self.offloaded:
            found: Policy = jax.checkpoint_policies.save_only_these_names(*self.saved)
            return found
        moving: Policy = jax.checkpoint_policies.save_and_offload_only_these_names(
            names_which_can_be_saved=list(self.saved),
            names_which_can_be_offloaded=list(self.offloaded),
            offload_src="device",
            offload_dst="pinned_host",
        )
        return moving

    def compiled(self, *, compiled_bytes: int, plain_bytes: int, platform: str) -> PolicyPlan:
        """Return the plan with what XLA says of it."""
        return replace(
            self,
            compiled_bytes=compiled_bytes,
            plain_compiled_bytes=plain_bytes,
            platform=platform,
        )

    def write(self, path: str | Path) -> None:
        """Write the plan as JSON; the file appears complete or not at all.

        Raises
        ------
        InputError
            If the folder does not exist or cannot be written.
        """
        header = {"format": FORMAT, "kind": _KIND, "version": _VERSION}
        write_json({**header, **asdict(self)}, Path(path))

    @classmethod
    def of_policy(cls, policy: ExportedPolicy, program_sha256: str) -> PolicyPlan:
        """Return the plan of a policy of ``jettison export-policy``, for a program of a loss."""
        bounds = [policy.base_time_ns, *(bound.time_ns for bound in policy.bounds)]
        return cls(
            program_sha256=program_sha256,
            graph_sha256=policy.instance_sha256,
            saved=tuple(
                name
                for name, again in policy.decisions.items()
                if not again and name not in policy.offloaded
            ),
            offloaded=tuple(sorted(policy.offloaded)),
            model_limit_bytes=policy.memory_bytes,
            predicted_peak_bytes=policy.peak_bytes,
            predicted_time_ns=policy.time_ns,
            base_time_ns=policy.base_time_ns,
            bound_limit_bytes=policy.memory_bytes,
            bound_ns=max(bounds),
            limit_bytes=policy.memory_bytes,
        )

    @classmethod
    def read(cls, path: str | Path) -> PolicyPlan:
        """Read a plan that `write` has written.

        Raises
        ------
        InputError
            If the file is none, or a field is missing or wrong.
        """
        source = str(path)
        document = read_json(Path(path))
        check_header(document, {_KIND: _VERSION}, source)
        try:
            return cls(**_checked(document))
        except InputError as error:
            raise error.within(source=source) from None


def _checked(document: Mapping[str, Any]) -> dict[str, Any]:
    known = {item.name: item for item in fields(PolicyPlan)}
    found: dict[str, Any] = {}
    for name, value in document.items():
        if name in {"format", "kind", "version"}:
            continue
        if name not in known:
            raise InputError("unknown field", field=name, expected=f"write {', '.join(known)}")
        found[name] = _field(name, value, str(known[name].type))
    for name, item in known.items():
        has_default = item.default is not item.default_factory
        if name not in found and not has_default:
            raise InputError("missing", field=name, expected="write all fields of a plan")
    both = set(found.get("saved", ())) & set(found.get("offloaded", ()))
    if both:
        raise InputError(
            f"{min(both)!r} is saved as well",
            field="offloaded",
            expected="name each value once",
        )
    return found


def _field(name: str, value: Any, kind: str) -> Any:
    if kind == "tuple[str, ...]":
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            raise InputError(f"{value!r}"[:80], field=name, expected="write a list of names")
        return tuple(value)
    if kind == "LoopBodies":
        if value not in [str(item) for item in LoopBodies]:
            raise InputError(
                f"{value!r}"[:80], field=name, expected=f"write {' or '.join(LoopBodies)}"
            )
        return LoopBodies(value)
    if kind == "bool":
        if not isinstance(value, bool):
            raise InputError(f"{value!r}"[:80], field=name, expected="write true or false")
        return value
    if kind == "int":
        if isinstance(value, bool) or not isinstance(value, int) or value < 0:
            raise InputError(f"{value!r}"[:80], field=name, expected="write a whole number from 0")
        return value
    if not isinstance(value, str):
        raise InputError(f"{value!r}"[:80], field=name, expected="write text")
    return value
