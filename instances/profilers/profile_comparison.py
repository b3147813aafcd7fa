"""Comparison of two profiles of the same operations, which two programs may have made.

Each profile is checked against itself, and a machine that is slower all through is not seen by
that. What another program has measured of the same operations shows it, with the reference kernel
that each profile keeps the duration of (`MachineState`): it tells whether the machine was another.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction

from jettison.instances.core.errors import InputError
from jettison.instances.core.instance import Instance
from jettison.instances.core.provenance import Provenance
from jettison.instances.profilers.machine_state import MOST_DIFFERENT

_REFERENCE = "reference_ns"
# What two profiles must have in common beside their operations; the note has the threads.
_SETTINGS = ("source", "device", "note", "parameter_gradients")


@dataclass(frozen=True, slots=True)
class ProfileComparison:
    """Durations of two profiles of the same operations.

    Attributes
    ----------
    earlier_ns, later_ns
        All durations of each together.
    earlier_reference_ns, later_reference_ns
        Counted durations of the reference kernel; None where a profile did not keep it.
    """

    earlier_ns: int
    later_ns: int
    earlier_reference_ns: int | None = None
    later_reference_ns: int | None = None

    @property
    def is_apart(self) -> bool:
        """Whether one is more than 10 % above the other."""
        return _are_apart(self.earlier_ns, self.later_ns)

    def figures(self) -> str:
        """Return what both have found, and what the reference kernel says of the machine."""
        found = (
            f"{self.earlier_ns / 1e6:.3g} ms then and {self.later_ns / 1e6:.3g} ms now"
            f" ({_change(self.earlier_ns, self.later_ns)})"
        )
        if not self.earlier_reference_ns or not self.later_reference_ns:
            return found
        before_ns, after_ns = self.earlier_reference_ns, self.later_reference_ns
        found += (
            f"; a reference kernel took {before_ns / 1e3:.4g} us then and {after_ns / 1e3:.4g} us"
            f" now ({_change(before_ns, after_ns)})"
        )
        if not self.is_apart:
            return found
        if not _are_apart(before_ns, after_ns):
            return f"{found}, so that caches or memory were shared in another way"
        rescaled_ns = self.later_ns * before_ns // after_ns
        if _are_apart(self.earlier_ns, rescaled_ns):
            return f"{found}, which explains a part of it"
        return f"{found}: the whole machine was {'slower' if after_ns > before_ns else 'faster'}"


def compare_profiles(earlier: Instance, later: Instance, field: str) -> ProfileComparison:
    """Return the durations of two profiles of the same operations; O(n).

    Parameters
    ----------
    earlier, later
        Instances of one kind: all but the durations must be equal, and the device, the threads and
        the handling of gradients as well. Versions of libraries may differ.
    field
        Name of the argument that gave the earlier one, for errors.

    Raises
    ------
    InputError
        If they are profiles of different operations: what differs is named.
    """
    for name in _SETTINGS:
        before, after = (getattr(item.provenance, name) for item in (earlier, later))
        if before != after:
            raise _other(field, name, before, after)
    earlier_ns = later_ns = 0
    if earlier.kind != later.kind:
        raise _other(field, "kind", earlier.kind, later.kind)
    for path, before, after in _pairs(_content(earlier), _content(later), ""):
        if path.endswith("_ns") and isinstance(before, int) and isinstance(after, int):
            earlier_ns += before
            later_ns += after
        elif before != after:
            raise _other(field, path, before, after)
    return ProfileComparison(
        earlier_ns=earlier_ns,
        later_ns=later_ns,
        earlier_reference_ns=_reference_ns(earlier.provenance),
        later_reference_ns=_reference_ns(later.provenance),
    )


def _content(instance: Instance) -> Mapping[str, object]:
    """Return the fields of an instance, but for its name and where it comes from."""
    document = instance.to_json()
    return {name: document[name] for name in document if name not in {"name", "provenance"}}


def _pairs(before: object, after: object, path: str) -> Iterator[tuple[str, object, object]]:
    """Yield the leaves of two documents beside each other, or what has another form."""
    if isinstance(before, Mapping) and isinstance(after, Mapping) and before.keys() == after.keys():
        for name in before:
            yield from _pairs(before[name], after[name], f"{path}.{name}" if path else str(name))
    elif isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        for place, (one, other) in enumerate(zip(before, after, strict=True)):
            yield from _pairs(one, other, f"{path}[{place}]")
    else:
        yield path, before, after


def _other(field: str, path: str, before: object, after: object) -> InputError:
    return InputError(
        f"{path} is {_short(before)} there, and {_short(after)} in this profile",
        field=field,
        expected="name a profile of the same model, with the same batch, device and threads",
    )


def _short(value: object) -> str:
    if isinstance(value, list | Mapping):
        return f"a {'list' if isinstance(value, list) else 'record'} of {len(value)}"
    return repr(value)[:60]


def _reference_ns(provenance: Provenance) -> int | None:
    found = provenance.machine.get(_REFERENCE)
    return None if found is None else int(found)


def _are_apart(one_ns: int, other_ns: int) -> bool:
    return max(one_ns, other_ns) > (1 + MOST_DIFFERENT) * min(one_ns, other_ns)


def _change(before_ns: int, after_ns: int) -> str:
    if not before_ns:
        return "nothing before"
    return f"{float(100 * (Fraction(after_ns, before_ns) - 1)):+.0f} %"
