"""Registry of named items that installed distributions declare as entry points.

Whoever adds a column declares it in the metadata of a distribution, as jettison declares its own::

    [project.entry-points."jettison.problems"]
    knapsack = "my_package.kind:KNAPSACK"

Names are known from the metadata alone; what stands behind a name is imported when it is first
asked for.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from importlib.metadata import EntryPoint, entry_points
from typing import Generic, TypeVar

from jettison.instances.core.errors import JettisonError

T = TypeVar("T")

_OWN = "jettison"


class RegistrationError(JettisonError):
    """Error of a registered item that cannot be used: a defect of an installation."""


class Registry(Generic[T]):
    """Registry of the items of one group of entry points, by name.

    Parameters
    ----------
    group
        The group of the entry points.
    kind
        The type that every item has.
    """

    def __init__(self, group: str, kind: type[T]) -> None:
        self.group = group
        self._kind = kind
        self._loaded: dict[str, T] = {}

    @cached_property
    def _declared(self) -> dict[str, EntryPoint]:
        """The entry points by name: jettison's own first, in their order, then those of others."""
        found: dict[str, EntryPoint] = {}
        for point in sorted(entry_points(group=self.group), key=_place):
            other = found.setdefault(point.name, point)
            if other.value != point.value:
                raise RegistrationError(
                    f"{point.name!r} is registered twice as one of {self.group}: {_origin(other)} "
                    f"and {_origin(point)}; uninstall one of them"
                )
        if not any(_is_own(point) for point in found.values()):
            raise RegistrationError(
                f"the installation declares none of its own {self.group}; install jettison again"
            )
        return found

    @property
    def names(self) -> tuple[str, ...]:
        """All names; nothing is imported for them."""
        return tuple(dict.fromkeys((*self._declared, *self._loaded)))

    def find(self, name: str) -> T | None:
        """Return the item of a name, or None if there is none.

        Raises
        ------
        RegistrationError
            If what is declared under the name cannot be imported, or is something else.
        """
        if name not in self._loaded:
            if name not in self._declared:
                return None
            self._loaded[name] = self._load(self._declared[name])
        return self._loaded[name]

    def __iter__(self) -> Iterator[T]:
        for name in self.names:
            item = self.find(name)
            assert item is not None
            yield item

    @contextmanager
    def registered(self, name: str, item: T) -> Iterator[None]:
        """Register an item for a while, as tests and notebooks do, without any installation.

        Raises
        ------
        RegistrationError
            If the name is taken.
        """
        if name in self.names:
            raise RegistrationError(f"{name!r} is one of {self.group} already; choose another name")
        self._loaded[name] = item
        try:
            yield
        finally:
            del self._loaded[name]

    def _load(self, point: EntryPoint) -> T:
        try:
            item = point.load()
        except Exception as error:
            raise RegistrationError(
                f"{point.name!r} of {self.group} cannot be loaded: {_origin(point)}: "
                f"{type(error).__name__}: {error}"
            ) from error
        if not isinstance(item, self._kind):
            raise RegistrationError(
                f"{point.name!r} of {self.group} is a {type(item).__name__}: {_origin(point)}; "
                f"it has to be a {self._kind.__name__}"
            )
        return item


def _is_own(point: EntryPoint) -> bool:
    return point.dist is not None and point.dist.name == _OWN


def _place(point: EntryPoint) -> tuple[bool, str]:
    """Sort by who declares and by name, but leave our own in the order of their declaration."""
    return (False, "") if _is_own(point) else (True, point.name)


def _origin(point: EntryPoint) -> str:
    return f"{point.value} of {point.dist.name if point.dist else 'an unknown distribution'}"
