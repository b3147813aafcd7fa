"""Protocol of all problems: an instance with the resources of a training step."""

from __future__ import annotations

from dataclasses import Field
from typing import Any, ClassVar, Protocol, runtime_checkable

from jettison.instances.core.instance import Instance
from jettison.instances.core.link import Link


@runtime_checkable
class Problem(Protocol):
    """Problem: a frozen dataclass of an instance and the resources of one training step."""

    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]

    @property
    def problem(self) -> str:
        """The name of its kind: ``"remat-chain"``."""
        ...

    @property
    def instance(self) -> Instance:
        """The instance."""
        ...

    @property
    def memory(self) -> object:
        """The memory as it was given; a field, so that it can be replaced."""
        ...

    @property
    def memory_bytes(self) -> int:
        """The memory in bytes."""
        ...

    @property
    def base_time_ns(self) -> int:
        """The time of a step without a limit on memory; no schedule is faster."""
        ...

    @property
    def link(self) -> Link | None:
        """The link to the host; None where nothing leaves the device."""
        ...
