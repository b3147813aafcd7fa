"""Architecture of fused models: the profile of each number of them that may be fused."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

from jettison.instances.core.errors import InputError
from jettison.instances.core.instance_document import read_each
from jettison.instances.core.names import checked_name, checked_unique
from jettison.instances.multi_model.feature_map import FeatureMap
from jettison.instances.multi_model.fused_operator import FusedOperator, checked_column
from jettison.instances.multi_model.sub_array import IdleTensor, SubArray, Work

LARGEST_MODELS = 64


@dataclass(frozen=True)
class Architecture:
    """Models of one architecture, with a profile for each number of them that may be fused.

    Attributes
    ----------
    name
        Name of the architecture.
    models
        How many models are to be trained, 1 to 64.
    sizes
        The numbers of models that may be fused, ascending. Every field of operators and feature
        maps that holds several amounts has one for each size, in this order.
    static_bytes
        Memory that is in use all the time, for each size: weights, gradients, optimizer states.
    forward, backward
        The operators of the two passes, in order; each pass has at least one.
    feature_maps
        Feature maps, which the forward pass makes and the backward pass reads.

    Raises
    ------
    InputError
        If a column has not one entry for each size, a name is unknown or used twice, a feature map
        is used before it is made, its sources are not made before it, or the memory of an operator
        does not hold what is in use there.
    """

    name: str
    models: int
    sizes: tuple[int, ...]
    static_bytes: tuple[int, ...]
    forward: tuple[FusedOperator, ...]
    backward: tuple[FusedOperator, ...]
    feature_maps: tuple[FeatureMap, ...]

    def __post_init__(self) -> None:
        checked_name(self.name, "name")
        _checked_count(self.models, "models")
        for place, size in enumerate(self.sizes):
            _checked_count(size, f"sizes[{place}]")
        if not self.sizes or any(a >= b for a, b in pairwise(self.sizes)):
            raise InputError(
                f"{list(self.sizes)}", field="sizes", expected="write the sizes once, ascending"
            )
        checked_column(self.static_bytes, "static_bytes", "bytes")
        self._check_length(self.static_bytes, "static_bytes")
        for passes, operators in (("forward", self.forward), ("backward", self.backward)):
            if not operators:
                raise InputError("the pass is empty", field=passes, expected="give an operator")
            for place, operator in enumerate(operators):
                for column in ("run_ns", "peak_bytes", "active_bytes"):
                    self._check_length(getattr(operator, column), f"{passes}[{place}].{column}")
        checked_unique([operator.name for operator in self.forward + self.backward], "operators")
        checked_unique([tensor.name for tensor in self.feature_maps], "feature_maps")
        for place, tensor in enumerate(self.feature_maps):
            self._check_feature_map(f"feature_maps[{place}]", tensor)
        for place in range(len(self.sizes)):
            self._check_memory(place)

    def _check_length(self, column: Sequence[int], where: str) -> None:
        if len(column) != len(self.sizes):
            raise InputError(
                f"{len(column)} entries for {len(self.sizes)} sizes",
                field=where,
                expected="write one for each of `sizes`",
            )

    def _check_feature_map(self, where: str, tensor: FeatureMap) -> None:
        for column in ("size_bytes", "recompute_ns", "recompute_bytes"):
            self._check_length(getattr(tensor, column), f"{where}.{column}")
        if tensor.swap_ns:
            self._check_length(tensor.swap_ns, f"{where}.swap_ns")
        for passes, places, names in (
            ("forward", self._forward_place, ("made_by", "last_forward")),
            ("backward", self._backward_place, ("first_backward", "last_backward")),
        ):
            for name in names:
                if getattr(tensor, name) not in places:
                    raise InputError(
                        f"{getattr(tensor, name)!r} is no {passes} operator",
                        field=f"{where}.{name}",
                        expected=f"name one of `{passes}`",
                    )
            first, last = (places[getattr(tensor, name)] for name in names)
            if last < first:
                raise InputError(
                    f"{getattr(tensor, names[1])!r} comes before {getattr(tensor, names[0])!r}",
                    field=f"{where}.{names[1]}",
                    expected="name an operator that is not before it",
                )
        for position, source in enumerate(tensor.sources):
            found = self._feature_map_place.get(source)
            if found is None or source in tensor.sources[:position]:
                raise InputError(
                    f"{source!r} is not a feature map" if found is None else f"{source!r} again",
                    field=f"{where}.sources[{position}]",
                    expected="name each feature map that it is computed from once",
                )
            maker = self.feature_maps[found].made_by
            if self._forward_place[maker] > self._forward_place[tensor.made_by] or (
                found >= self._feature_map_place[tensor.name]
            ):
                raise InputError(
                    f"{source!r} is not made before {tensor.name!r}",
                    field=f"{where}.sources[{position}]",
                    expected="list feature maps in the order in which they are made",
                )

    def _check_memory(self, place: int) -> None:
        """Check that each operator's memory is at least that of the feature maps in use then."""
        array = self._dense(place)
        before_bytes = 0
        for passes, works in (("forward", array.forward), ("backward", array.backward)):
            arrives = [0] * len(works)
            leaves = [0] * len(works)
            # Feature maps in use between an operator and the next one of the pass.
            spans = [0] * (len(works) + 1)
            for tensor in array.tensors:
                if passes == "forward":
                    first, last = tensor.made_by, tensor.last_forward
                    leaves[last] += tensor.size_bytes
                else:
                    first, last = tensor.first_backward, tensor.last_backward
                    arrives[first] += tensor.size_bytes
                spans[first] += tensor.size_bytes
                spans[last] -= tensor.size_bytes
            used_bytes = 0
            for position, work in enumerate(works):
                used_bytes += spans[position]
                self._expect(
                    f"{passes}[{position}].peak_bytes[{place}]",
                    work.peak_bytes,
                    max(
                        before_bytes + arrives[position],
                        work.active_bytes + leaves[position],
                    ),
                )
                self._expect(
                    f"{passes}[{position}].active_bytes[{place}]", work.active_bytes, used_bytes
                )
                before_bytes = work.active_bytes
        if before_bytes:
            raise InputError(
                f"{before_bytes} bytes are left after the step",
                field=f"backward[{len(self.backward) - 1}].active_bytes[{place}]",
                expected="write 0: gradients of weights belong to static_bytes",
            )

    def _expect(self, where: str, found_bytes: int, needed_bytes: int) -> None:
        if found_bytes < needed_bytes:
            raise InputError(
                f"{found_bytes} bytes, where {needed_bytes} are in use",
                field=where,
                expected="count the feature maps in use and what the pass carries along",
            )

    @cached_property
    def _forward_place(self) -> Mapping[str, int]:
        return {operator.name: place for place, operator in enumerate(self.forward)}

    @cached_property
    def _backward_place(self) -> Mapping[str, int]:
        return {operator.name: place for place, operator in enumerate(self.backward)}

    @cached_property
    def _feature_map_place(self) -> Mapping[str, int]:
        return {tensor.name: place for place, tensor in enumerate(self.feature_maps)}

    def fused(self, models: int) -> SubArray:
        """Return the sub-array of several fused models.

        Raises
        ------
        InputError
            If there is no profile of that size.
        """
        if models not in self.sizes:
            raise InputError(
                f"{models}",
                field="models",
                expected=f"{self.name} has profiles of {', '.join(map(str, self.sizes))} models",
            )
        return self._dense_arrays[self.sizes.index(models)]

    @cached_property
    def _dense_arrays(self) -> tuple[SubArray, ...]:
        return tuple(self._dense(place) for place in range(len(self.sizes)))

    def _dense(self, place: int) -> SubArray:
        def works(operators: Sequence[FusedOperator]) -> tuple[Work, ...]:
            return tuple(
                Work(
                    operator.name,
                    operator.run_ns[place],
                    operator.peak_bytes[place],
                    operator.active_bytes[place],
                )
                for operator in operators
            )

        return SubArray(
            models=self.sizes[place],
            static_bytes=self.static_bytes[place],
            forward=works(self.forward),
            backward=works(self.backward),
            tensors=tuple(
                IdleTensor(
                    name=tensor.name,
                    size_bytes=tensor.size_bytes[place],
                    made_by=self._forward_place[tensor.made_by],
                    last_forward=self._forward_place[tensor.last_forward],
                    first_backward=self._backward_place[tensor.first_backward],
                    last_backward=self._backward_place[tensor.last_backward],
                    recompute_ns=tensor.recompute_ns[place],
                    recompute_bytes=tensor.recompute_bytes[place],
                    sources=tuple(self._feature_map_place[name] for name in tensor.sources),
                    swap_ns=tensor.swap_ns[place] if tensor.swap_ns else None,
                )
                for tensor in self.feature_maps
            ),
        )

    def profile(self) -> dict[str, object]:
        """Return the fields of the JSON object, without the name."""
        return {
            "models": self.models,
            "sizes": list(self.sizes),
            "static_bytes": list(self.static_bytes),
            "forward": [operator.to_json() for operator in self.forward],
            "backward": [operator.to_json() for operator in self.backward],
            "feature_maps": [tensor.to_json() for tensor in self.feature_maps],
        }

    @classmethod
    def of_entry(cls, entry: Mapping[str, Any]) -> Architecture:
        """Build an architecture from parsed JSON that has passed the schema.

        Raises
        ------
        InputError
            If a value contradicts another.
        """
        return Architecture(**profile_fields(entry))


def profile_fields(entry: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of an architecture from parsed JSON.

    Raises
    ------
    InputError
        If a value contradicts another.
    """
    return {
        "name": entry["name"],
        "models": entry["models"],
        "sizes": tuple(entry["sizes"]),
        "static_bytes": tuple(entry["static_bytes"]),
        "forward": read_each(entry, "forward", FusedOperator.from_json),
        "backward": read_each(entry, "backward", FusedOperator.from_json),
        "feature_maps": read_each(entry, "feature_maps", FeatureMap.from_json),
    }


def _checked_count(count: object, where: str) -> None:
    if isinstance(count, bool) or not isinstance(count, int) or not 1 <= count <= LARGEST_MODELS:
        raise InputError(
            f"{count!r}", field=where, expected=f"write a number of models, 1 to {LARGEST_MODELS}"
        )
