"""Problem of µ-TWO: models to train, the memory of the device, and its link to the host."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from jettison.instances.core.card import Resident
from jettison.instances.core.errors import InputError
from jettison.instances.core.link import Link, parse_link
from jettison.instances.core.memory import Memory, Share, amount_or_share, bytes_of
from jettison.instances.multi_model.architecture import Architecture
from jettison.instances.multi_model.instance import MultiModel
from jettison.instances.multi_model.sub_array import SubArray
from jettison.instances.multi_model.sub_array_key import Key, key_of


@dataclass(frozen=True)
class MultiModelTraining:
    r"""Run one training iteration of every model of `instance` within `memory`.

    The models are divided into *training units*: a pair of sub-arrays that are interleaved, or one
    sub-array alone. Units are trained one after the other, each with the device to itself, as a
    user would who trains them in turn; the time of an iteration is the sum over the units.

    Attributes
    ----------
    instance
        The models and their profiles.
    memory
        Of the device: bytes (``"40GiB"``), or a share (``"60%"``) of the peak of all models fused
        with every feature map kept. Of a `Card` nothing is taken off but what is said to be
        resident: the static memory of the models is part of the plan.
    bandwidth
        Of each direction of the link, where transfers do not have a measured time; None for the
        instance's own. Given, it replaces measured times as well. On a link that both directions
        share, two transfers at a time have half of its total each.
    models
        How many of the models to train; None for all, which all of several architectures are.

    Raises
    ------
    InputError
        If one of them cannot be read, `memory` is a ratio alpha, or it is a share and no profile
        of all models exists, or the sizes of the profiles do not add up to `models`.
    """

    problem = "multi-model"

    instance: MultiModel
    memory: str | int | Memory
    bandwidth: str | int | Link | None = None
    models: int | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.instance, MultiModel):
            raise InputError(
                f"a {type(self.instance).__name__}",
                field="instance",
                expected="multi-model needs models to train",
            )
        memory = amount_or_share(
            self.memory,
            self._least_fused_peak_bytes,
            "write an amount (40GiB) or a share of the no-saving peak (60%)",
            Resident.all_planned,
        )
        object.__setattr__(self, "memory", memory)
        if self.bandwidth is not None:
            object.__setattr__(self, "bandwidth", parse_link(self.bandwidth))
        own = self.instance.architectures
        total = sum(item.models for item in own)
        if self.models is None:
            object.__setattr__(self, "models", total)
        elif (
            isinstance(self.models, bool)
            or not isinstance(self.models, int)
            or not 1 <= self.models <= total
        ):
            raise InputError(
                f"{self.models!r}",
                field="models",
                expected=f"{self.instance.name} has 1 to {total} models",
            )
        if len(own) > 1 and self.models != total:
            raise InputError(
                f"{self.models} of {total} models of {len(own)} architectures",
                field="models",
                expected="leave it out: with several architectures all models are trained",
            )
        for count, item in zip(self.counts, own, strict=True):
            self._check_divisible(count, item)
        if isinstance(memory, Share) and (len(own) > 1 or self.count not in own[0].sizes):
            missing = "different" if len(own) > 1 else "fused"
            raise InputError(
                f"{memory} of the peak of {self.count} {missing} models, whose profile is missing",
                field="memory",
                expected="write an amount (40GiB)",
            )

    def _check_divisible(self, count: int, architecture: Architecture) -> None:
        reachable = {0}
        for total in range(1, count + 1):
            if any(total - size in reachable for size in architecture.sizes):
                reachable.add(total)
        if count not in reachable:
            raise InputError(
                f"{count} models cannot be divided into sub-arrays of "
                f"{', '.join(map(str, architecture.sizes))}",
                field="models",
                expected="add a profile of one model, or choose another number",
            )

    @property
    def count(self) -> int:
        """Number of models to train, of all architectures together."""
        assert self.models is not None
        return self.models

    @property
    def counts(self) -> tuple[int, ...]:
        """Number of models to train of each architecture."""
        if not self.instance.others:
            return (self.count,)
        return tuple(item.models for item in self.instance.architectures)

    @cached_property
    def keys(self) -> tuple[Key, ...]:
        """Sub-arrays that the models may be divided into, ascending."""
        return tuple(
            key_of(place, size)
            for place, (count, item) in enumerate(
                zip(self.counts, self.instance.architectures, strict=True)
            )
            for size in item.sizes
            if size <= count
        )

    @cached_property
    def memory_bytes(self) -> int:
        """The limit in bytes; shares round down."""
        array = self.instance.sub_array
        return bytes_of(self.memory, lambda: array(self.count).store_all_peak_bytes)

    def _least_fused_peak_bytes(self) -> int:
        """Return the no-saving peak of the smallest sub-array of the instance."""
        return self.instance.sub_array(min(self.instance.sizes)).store_all_peak_bytes

    @cached_property
    def link(self) -> Link:
        """The link to the host, for copies without a measured time."""
        return parse_link(self.instance.bandwidth if self.bandwidth is None else self.bandwidth)

    @cached_property
    def has_measured_transfers(self) -> bool:
        """Whether some copies take the time that the instance has for them, whatever the link."""
        return self.bandwidth is None and any(
            tensor.swap_ns for item in self.instance.architectures for tensor in item.feature_maps
        )

    @cached_property
    def base_time_ns(self) -> int:
        """Time of an iteration without waiting or recomputation, fused in the fastest way."""
        return sum(self._base_time_ns(place, count) for place, count in enumerate(self.counts))

    def _base_time_ns(self, architecture: int, count: int) -> int:
        least_ns: list[int | None] = [0]
        for total in range(1, count + 1):
            times_ns = [
                rest + self.sub_array(key_of(architecture, size)).compute_ns
                for size in self.instance.architectures[architecture].sizes
                if size <= total and (rest := least_ns[total - size]) is not None
            ]
            least_ns.append(min(times_ns, default=None))
        # The constructor has checked that the sizes add up.
        fastest_ns = least_ns[count]
        assert fastest_ns is not None
        return fastest_ns

    def sub_array(self, key: Key) -> SubArray:
        """Return a sub-array: several fused models of one architecture.

        Raises
        ------
        InputError
            If the instance has none of that size.
        """
        return self.instance.sub_array(key)

    def swap_ns(self, array: SubArray) -> tuple[int, ...]:
        """Return the time of a copy of each feature map of a sub-array, in one direction."""
        if self.bandwidth is None:
            own = Link(self.instance.bandwidth)
            return tuple(
                own.transfer_ns(tensor.size_bytes) if tensor.swap_ns is None else tensor.swap_ns
                for tensor in array.tensors
            )
        link = parse_link(self.bandwidth)
        return tuple(link.transfer_ns(tensor.size_bytes) for tensor in array.tensors)
