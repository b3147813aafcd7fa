"""Strategies of the operators of a GPT, from SuperScaler's profiles of one and of T devices."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from jettison.instances.core.errors import InputError
from jettison.instances.importers.superscaler_mesh.collective_times import CollectiveTimes
from jettison.instances.importers.superscaler_mesh.transformer_layers import (
    FIRST,
    HIDDEN,
    Placed,
    Split,
)
from jettison.instances.importers.superscaler_operators import Operator as Measured
from jettison.instances.remat_sharding.operator import Strategy

_QKV = "enc-attention-qkv"
# Queries, keys and values are a third each: the scores read the first two, the context the last.
_SHARES = {"enc-attention-score": Fraction(2, 3), "enc-attention-context": Fraction(1, 3)}


@dataclass(frozen=True, slots=True)
class MeasuredStrategies:
    """Profiles of one device and of T devices, in both ways, and of collectives on T devices."""

    profiles: Sequence[Mapping[str, Measured]]
    reduce: CollectiveTimes
    gather: CollectiveTimes
    devices: int

    def measured(self, placed: Placed, split: Split) -> Measured:
        """Return the measurement of an operator with a strategy."""
        return self.profiles[0 if split.algorithm is None else 1 + split.algorithm][placed.row]

    def forward(self, placed: Placed) -> tuple[Strategy, ...]:
        """Return the strategies of a forward operator; the memory is what the allocator gained."""
        return tuple(
            _strategy(
                split,
                self.measured(placed, split).forward_ns,
                self.reduce.time_ns(self.tensor_bytes(placed, False)) if split.adds_output else 0,
                self.measured(placed, split).activation_bytes,
            )
            for split in placed.kind.splits
        )

    def backward(self, placed: Placed, source: Placed | None) -> tuple[Strategy, ...]:
        """Return the strategies of a backward operator, which makes the gradient of a source."""
        return tuple(
            _strategy(
                split,
                self.measured(placed, split).backward_ns,
                self.reduce.time_ns(self.gradient_bytes(placed, source, False))
                if split.adds_gradient
                else 0,
                self.gradient_bytes(placed, source, split.input_is_split),
            )
            for split in placed.kind.splits
        )

    def weights(self, placed: Placed) -> tuple[Strategy, ...]:
        """Return, with each strategy, the memory of the weights, in no time."""
        return tuple(
            _strategy(split, 0, 0, self.measured(placed, split).weight_bytes)
            for split in placed.kind.splits
        )

    def has_weights(self, placed: Placed) -> bool:
        """Return whether an operator has weights."""
        return self.profiles[0][placed.row].weight_bytes > 0

    def values_gradient(self, placed: Placed, qkv: Placed) -> tuple[Strategy, ...]:
        """Return, with each strategy of the context, the memory of the gradient of the values."""
        return tuple(
            _strategy(split, 0, 0, self.passed_bytes(placed, qkv, split.input_is_split))
            for split in placed.kind.splits
        )

    def tensor_bytes(self, placed: Placed, is_split: bool) -> int:
        """Return the bytes of what an operator makes, on one device, without what passes by.

        Raises
        ------
        InputError
            If what passes by is more than all.
        """
        profile = self.profiles[0]
        measured = profile[placed.row]
        found = measured.output_bytes
        if placed.kind.hidden_carried:
            found -= profile[FIRST].output_bytes
        if placed.kind.values_carried:
            found -= (profile[_QKV].output_bytes - profile[FIRST].output_bytes) // 3
        if found < 0 or (found == 0 and placed.kind.hidden_carried):
            raise InputError(
                f"{measured.output_bytes} bytes are less than what bypasses the operator",
                field=f"{measured.field}: output_size",
                expected="give the profile of a GPT, as it was measured",
            )
        return -(-found // self.devices) if is_split else found

    def passed_bytes(self, placed: Placed, source: Placed, is_split: bool) -> int:
        """Return the bytes that an operator reads of a source, on one device."""
        share = _SHARES.get(placed.row, 1) if source.row == _QKV else 1
        return int(self.tensor_bytes(source, is_split) * share)

    def gradient_bytes(self, placed: Placed, source: Placed | None, is_split: bool) -> int:
        """Return the bytes of the gradient that a backward operator makes for a source."""
        return 0 if source is None else self.passed_bytes(placed, source, is_split)

    def gathering_ns(self, placed: Placed, source: Placed) -> int:
        """Return the time to bring all parts of what an operator reads to each device."""
        return self.gather.time_ns(self.passed_bytes(placed, source, True))


def reads_hidden(placed: Placed) -> bool:
    """Return whether the first thing that an operator reads is the hidden state."""
    return placed.kind.reads[:1] == (HIDDEN,)


def _strategy(split: Split, measured_ns: int, collective_ns: int, memory_bytes: int) -> Strategy:
    communication_ns = min(measured_ns, collective_ns)
    return Strategy(
        name=split.name,
        compute_ns=measured_ns - communication_ns,
        communication_ns=communication_ns,
        memory_bytes=memory_bytes,
    )
