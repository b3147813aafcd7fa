"""What every problem has, whatever is asked."""

from __future__ import annotations

from dataclasses import Field
from typing import Any, ClassVar, Protocol, runtime_checkable

from jettison.instances.core.instance import Instance
from jettison.instances.core.link import Link


@runtime_checkable
class Problem(Protocol):
    """An instance and the resources of one training step: a frozen dataclass."""

    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]

    @property
    def problem(self) -> str:
        """The name of its kind: ``"remat-chain"``."""
        ...

    @property
    def instance(self) -> Instance:
        """What is given."""
        ...

    @property
    def memory(self) -> object:
        """How much memory there is, as it was given; a field, so that it can be replaced."""
        ...

    @property
    def memory_bytes(self) -> int:
        """How much that comes to."""
        ...

    @property
    def base_time_ns(self) -> int:
        """The time of a step that does nothing for the sake of memory; no schedule is faster."""
        ...

    @property
    def link(self) -> Link | None:
        """The link to the host; None where nothing leaves the device."""
        ...
