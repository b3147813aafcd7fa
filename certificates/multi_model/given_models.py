r"""Models to train as the checker reads them: the sub-arrays of an instance, and the link.

The instance has the fields of one architecture, and those of further ones in ``others``. A
sub-array :math:`(a, k)` is k fused models of architecture a: of every column the entry at the place
of k in ``sizes``. Feature map t becomes idle after forward operator :math:`l_t`, ``last_forward``,
and is needed again by backward operator :math:`e_t`, ``first_backward``; operators are counted from
0 in their pass.

A copy of a feature map takes :math:`c_t` ns: its size over the bandwidth, rounded up; where the
resources have no ``bytes_per_s``, the bandwidth is that of the instance, and a ``swap_ns`` of the
feature map takes the place of that time.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..errors import CertificateError
from ..header_fields import Fields, check_kind, integer_field, list_field, only_fields, text_field

_NS_PER_S = 10**9
# Beyond what any instance holds: a header must not make the checker work for hours.
_MOST_STATES = 1_000_000
_OF_ARCHITECTURE = {"models", "sizes", "static_bytes", "forward", "backward", "feature_maps"}
_OF_OPERATOR = {"name", "run_ns", "peak_bytes", "active_bytes"}
_COLUMNS_OF_MAP = ("size_bytes", "recompute_ns", "recompute_bytes")
_ENDS_OF_MAP = ("made_by", "last_forward", "first_backward", "last_backward")


@dataclass(frozen=True, slots=True)
class Operator:
    """Operator of a pass: its duration, and the memory of the pass during and after it."""

    run_ns: int
    peak_bytes: int
    active_bytes: int


@dataclass(frozen=True, slots=True)
class Tensor:
    r"""Feature map: size, :math:`l_t`, :math:`e_t`, time to recompute it, and :math:`c_t`."""

    size_bytes: int
    last_forward: int
    first_backward: int
    recompute_ns: int
    copy_ns: int


@dataclass(frozen=True)
class GivenSubArray:
    """Models of one architecture that are fused."""

    architecture: int
    models: int
    static_bytes: int
    forward: tuple[Operator, ...]
    backward: tuple[Operator, ...]
    tensors: tuple[Tensor, ...]

    @property
    def compute_ns(self) -> int:
        """Time of all operators once."""
        return sum(item.run_ns for item in self.forward + self.backward)

    @property
    def largest_peak_bytes(self) -> int:
        """Largest peak of an operator."""
        return max(item.peak_bytes for item in self.forward + self.backward)


@dataclass(frozen=True)
class GivenModels:
    """Training problem.

    Attributes
    ----------
    counts
        Models to train of each architecture.
    sub_arrays
        The sub-arrays by architecture and number of models.
    memory_bytes
        The limit.
    total_per_s
        Rate that both directions of the link share; 0 where they do not.
    """

    counts: tuple[int, ...]
    sub_arrays: dict[tuple[int, int], GivenSubArray]
    memory_bytes: int
    total_per_s: int

    @classmethod
    def from_json(cls, instance: Fields, resources: Fields) -> GivenModels:
        """Read the problem; linear time.

        Raises
        ------
        CertificateError
            If the instance or the resources are none.
        """
        check_kind(instance, "multi-model", _OF_ARCHITECTURE | {"bandwidth", "others"})
        known = {"memory_bytes", "models", "bytes_per_s", "total_bytes_per_s"}
        only_fields(resources, known, "resources")
        own_per_s = integer_field(instance, "bandwidth", least=1)
        rate = integer_field(resources, "bytes_per_s", least=1, default=own_per_s)
        total_per_s = 0
        if "total_bytes_per_s" in resources:
            if "bytes_per_s" not in resources:
                raise CertificateError("a total of both directions without the rate of each")
            total_per_s = integer_field(resources, "total_bytes_per_s", least=rate)
            if total_per_s >= 2 * rate:
                raise CertificateError("both directions share no less than the rate of each")
        is_measured = "bytes_per_s" not in resources
        architectures = [instance, *list_field(instance, "others")]
        counts, sub_arrays = [], {}
        for place, fields in enumerate(architectures):
            if place:
                only_fields(fields, {"name"} | _OF_ARCHITECTURE, "an architecture")
                text_field(fields, "name")
            counts.append(integer_field(fields, "models", least=1))
            for array in _sub_arrays(fields, place, rate, is_measured):
                sub_arrays[place, array.models] = array
        models = integer_field(resources, "models", least=1)
        if len(counts) == 1 and models <= counts[0]:
            counts = [models]
        if models != sum(counts):
            raise CertificateError(f"{models} models are not those of the instance")
        states = 1
        for count in counts:
            states *= count + 1
        if states * len(sub_arrays) ** 2 > _MOST_STATES:
            raise CertificateError("there are too many models to divide them")
        return cls(
            counts=tuple(counts),
            sub_arrays=sub_arrays,
            memory_bytes=integer_field(resources, "memory_bytes"),
            total_per_s=total_per_s,
        )

    def shared_ns(self, tensor: Tensor) -> int:
        """Return the least time in which both directions together carry a tensor."""
        return tensor.size_bytes * _NS_PER_S // self.total_per_s


def _sub_arrays(
    fields: Fields, architecture: int, rate: int, is_measured: bool
) -> list[GivenSubArray]:
    sizes = _column(fields, "sizes", None, least=1)
    if sizes != sorted(set(sizes)) or not sizes:
        raise CertificateError("the sizes do not ascend")
    static = _column(fields, "static_bytes", sizes)
    places: dict[str, dict[str, int]] = {}
    passes: dict[str, list[list[list[int]]]] = {}
    for word in ("forward", "backward"):
        places[word], passes[word] = {}, []
        for item in _some(fields, word):
            only_fields(item, _OF_OPERATOR, "an operator")
            name = text_field(item, "name")
            if any(name in known for known in places.values()):
                raise CertificateError("two operators have one name")
            places[word][name] = len(places[word])
            keys = ("run_ns", "peak_bytes", "active_bytes")
            passes[word].append([_column(item, key, sizes) for key in keys])
    tensors: list[tuple[list[int], int, int, list[int], list[int]]] = []
    names: set[str] = set()
    for item in list_field(fields, "feature_maps"):
        known = {"name", "sources", "swap_ns", *_COLUMNS_OF_MAP, *_ENDS_OF_MAP}
        only_fields(item, known, "a feature map")
        name = text_field(item, "name")
        if not all(isinstance(source, str) for source in list_field(item, "sources")):
            raise CertificateError("a source is no name")
        if name in names:
            raise CertificateError("two feature maps have one name")
        names.add(name)
        size, recompute, _ = (_column(item, key, sizes) for key in _COLUMNS_OF_MAP)
        made, idle, needed, last = (
            places["forward" if end < 2 else "backward"].get(text_field(item, key), -1)
            for end, key in enumerate(_ENDS_OF_MAP)
        )
        if not 0 <= made <= idle or not 0 <= needed <= last:
            raise CertificateError("a feature map is used by no such operators")
        copies = [-(-amount * _NS_PER_S // rate) for amount in size]
        measured = _column(item, "swap_ns", sizes) if list_field(item, "swap_ns") else copies
        tensors.append((size, idle, needed, recompute, measured if is_measured else copies))
    return [
        GivenSubArray(
            architecture=architecture,
            models=models,
            static_bytes=static[k],
            forward=tuple(Operator(*(column[k] for column in op)) for op in passes["forward"]),
            backward=tuple(Operator(*(column[k] for column in op)) for op in passes["backward"]),
            tensors=tuple(
                Tensor(size[k], idle, needed, recompute[k], copy[k])
                for size, idle, needed, recompute, copy in tensors
            ),
        )
        for k, models in enumerate(sizes)
    ]


def _some(fields: Fields, key: str) -> list[Any]:
    found = list_field(fields, key)
    if not found:
        raise CertificateError(f"{key} is an empty list")
    return found


def _column(fields: Fields, key: str, sizes: list[int] | None, least: int = 0) -> list[int]:
    values = list_field(fields, key)
    for value in values:
        # Each entry is checked as a field of its own.
        integer_field({key: value}, key, least=least)
    if sizes is not None and len(values) != len(sizes):
        raise CertificateError(f"{key} has {len(values)} entries for {len(sizes)} sizes")
    return values
