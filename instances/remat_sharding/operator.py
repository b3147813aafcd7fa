"""Operator of a sharded training step, with its sharding strategies."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from jettison.instances.core.errors import InputError
from jettison.instances.core.instance_document import read_each
from jettison.instances.core.names import checked_name
from jettison.instances.core.units import checked_amount


class Role(StrEnum):
    """Role of an operator in the training step."""

    PARAMETER = "parameter"
    """A weight: in memory from its place in the order to the end, never computed again."""

    INPUT = "input"
    """A batch: it may be freed, but not computed again."""

    FORWARD = "forward"
    BACKWARD = "backward"

    @property
    def is_computed_once(self) -> bool:
        """Whether no schedule may compute it again."""
        return self in {Role.PARAMETER, Role.INPUT}


@dataclass(frozen=True, slots=True, kw_only=True)
class Strategy:
    """Strategy: one way to shard an operator over the mesh; all numbers are per device.

    Attributes
    ----------
    name
        Unique within the operator; a sharding specification, say ``SR``.
    compute_ns
        Time to compute; None forbids the strategy.
    communication_ns
        Time of the collectives that the strategy itself needs, an all-reduce of partial sums, say.
    memory_bytes
        The operator's output on one device.

    Raises
    ------
    InputError
        If an amount is not a non-negative integer, or the name is empty.
    """

    name: str
    compute_ns: int | None
    communication_ns: int = 0
    memory_bytes: int

    def __post_init__(self) -> None:
        checked_name(self.name, "name")
        if self.compute_ns is not None:
            checked_amount(self.compute_ns, "compute_ns", "nanoseconds")
        checked_amount(self.communication_ns, "communication_ns", "nanoseconds")
        checked_amount(self.memory_bytes, "memory_bytes", "bytes")

    @property
    def is_forbidden(self) -> bool:
        """Whether the strategy is forbidden."""
        return self.compute_ns is None

    @property
    def cost_ns(self) -> int:
        """Time of one computation with an allowed strategy, :math:`c_{ik} + d_{ik}`."""
        assert self.compute_ns is not None
        return self.compute_ns + self.communication_ns


@dataclass(frozen=True, slots=True, kw_only=True)
class Operator:
    """Operator of a sharded training step, with its strategies.

    Attributes
    ----------
    name
        Unique within the graph.
    role
        Role in the step: parameter, input, forward or backward.
    strategies
        At least one, and one that is not forbidden.
    inputs
        Names of the operators whose values it reads.
    follows
        Name of an operator before this one that decides its strategy: the one at the same place in
        the list of strategies. None if the operator has a choice of its own.
    keep
        True if the value must be in memory at the end: a gradient of a weight, say.
    operation
        The kind of operation, ``dot_general`` say; empty if it is not known.
    scope
        Scope in the model, ``layer0/attention`` say; empty if it is not known.

    Raises
    ------
    InputError
        If a name is empty or used twice, or every strategy is forbidden.
    """

    name: str
    role: Role
    strategies: tuple[Strategy, ...]
    inputs: tuple[str, ...] = ()
    follows: str | None = None
    keep: bool = False
    operation: str = ""
    scope: str = ""

    def __post_init__(self) -> None:
        checked_name(self.name, "name")
        for field, text in (("operation", self.operation), ("scope", self.scope)):
            if text:
                checked_name(text, field)
        for position, name in enumerate(self.inputs):
            if name in self.inputs[:position]:
                raise InputError(
                    f"{name!r} stands twice",
                    field=f"inputs[{position}]",
                    expected="name each input once",
                )
        names = [strategy.name for strategy in self.strategies]
        for position, name in enumerate(names):
            if name in names[:position]:
                raise InputError(
                    f"{name!r} stands twice",
                    field=f"strategies[{position}].name",
                    expected="give every strategy a name of its own",
                )
        if all(strategy.is_forbidden for strategy in self.strategies):
            raise InputError(
                f"{self.name!r} has no strategy that is allowed",
                field="strategies",
                expected="give one strategy a compute_ns; null forbids",
            )
        if self.role.is_computed_once and self.inputs:
            raise InputError(
                f"{self.name!r} is a {self.role} and reads {self.inputs[0]!r}",
                field="inputs",
                expected="give inputs to forward and backward operators only",
            )

    @property
    def allowed(self) -> tuple[int, ...]:
        """Indices of the strategies that are not forbidden."""
        return tuple(
            place for place, strategy in enumerate(self.strategies) if not strategy.is_forbidden
        )

    def to_json(self) -> dict[str, object]:
        """Return the operator as a JSON object, without fields that have their default."""
        document: dict[str, object] = {
            "name": self.name,
            "role": str(self.role),
            "inputs": list(self.inputs),
            "strategies": [
                {
                    "name": strategy.name,
                    "compute_ns": strategy.compute_ns,
                    "communication_ns": strategy.communication_ns,
                    "memory_bytes": strategy.memory_bytes,
                }
                for strategy in self.strategies
            ],
        }
        if self.follows is not None:
            document["follows"] = self.follows
        if self.keep:
            document["keep"] = True
        if self.operation:
            document["operation"] = self.operation
        if self.scope:
            document["scope"] = self.scope
        return document

    @classmethod
    def from_json(cls, entry: Mapping[str, Any]) -> Operator:
        """Build the operator from parsed JSON that has passed the schema.

        Raises
        ------
        InputError
            As the constructor; the field is named by its path.
        """
        return cls(
            name=entry["name"],
            role=Role(entry["role"]),
            strategies=read_each(entry, "strategies", lambda item: Strategy(**item)),
            inputs=tuple(entry.get("inputs", [])),
            follows=entry.get("follows"),
            keep=entry.get("keep", False),
            operation=entry.get("operation", ""),
            scope=entry.get("scope", ""),
        )
