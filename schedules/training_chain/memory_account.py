"""Account of the memories of the device and of the host in a replay."""

from __future__ import annotations

from collections.abc import Sequence

from jettison.instances.remat_chain.chain import Chain
from jettison.schedules.training_chain.event import StageTensor, TrainingEvent
from jettison.schedules.training_chain.tensors import StageTensors
from jettison.schedules.training_chain.training_verdict import MemoryKind

_KINDS = tuple(MemoryKind)
_PLACED_FOR_EVER = (StageTensor.WEIGHTS, StageTensor.STATES)


class MemoryAccount:
    """Account of bytes in use, by kind on the device and in all on the host.

    Parameters
    ----------
    chain
        The instance, whose input is there all the time.
    stages
        Tensors as they are at first.
    events
        Events of the schedule: weights and states that they move have a place on the host for ever.
    """

    def __init__(
        self, chain: Chain, stages: Sequence[StageTensors], events: Sequence[TrainingEvent]
    ) -> None:
        self._bytes = dict.fromkeys(_KINDS, 0)
        self._bytes[MemoryKind.ACTIVATIONS] = chain.input_bytes
        for stage in stages:
            for name, kind in (
                (StageTensor.WEIGHTS, MemoryKind.WEIGHTS),
                (StageTensor.STATES, MemoryKind.STATES),
                (StageTensor.GRADIENT, MemoryKind.GRADIENTS),
            ):
                block = stage.blocks[name]
                self._bytes[kind] += block.size_bytes if block.is_resident else 0
        moved = {(event.stage, event.tensor) for event in events}
        for number, stage in enumerate(stages, start=1):
            moved |= {(number, name) for name in _PLACED_FOR_EVER if stage.updates_on_host}
        self._host_bytes = sum(
            stages[number - 1].blocks[name].size_bytes
            for number, name in moved
            if name in _PLACED_FOR_EVER
        )
        self._host_bytes += sum(
            block.size_bytes
            for stage in stages
            if (block := stage.blocks[StageTensor.GRADIENT]).hosted_version is not None
        )
        self._device_bytes = sum(self._bytes.values())
        self._peak_bytes = self._host_peak_bytes = 0
        self._moments: list[tuple[int, int]] = []
        self._profile: list[tuple[int, int]] = []
        self._kinds_profile: list[tuple[int, tuple[int, ...]]] = []

    def add(self, kind: MemoryKind, size_bytes: int) -> None:
        """Take memory of the device, or give it back where the size is negative."""
        self._bytes[kind] += size_bytes
        self._device_bytes += size_bytes

    def add_on_host(self, tensor: StageTensor, size_bytes: int) -> None:
        """Take memory of the host, or give it back, unless the tensor has a place for ever."""
        if tensor not in _PLACED_FOR_EVER:
            self._host_bytes += size_bytes

    def note(self, now_ns: int, shown_ns: int | None, *, is_judged: bool) -> None:
        """Note what is in use from now on.

        Parameters
        ----------
        now_ns
            The time.
        shown_ns
            The time in the period that is shown; None in other periods.
        is_judged
            Whether the peaks count.
        """
        self._moments.append((now_ns, self._device_bytes))
        if is_judged:
            self._peak_bytes = max(self._peak_bytes, self._device_bytes)
            self._host_peak_bytes = max(self._host_peak_bytes, self._host_bytes)
        if shown_ns is None:
            return
        if self._profile and self._profile[-1][0] == shown_ns:
            self._profile.pop()
            self._kinds_profile.pop()
        self._profile.append((shown_ns, self._device_bytes))
        self._kinds_profile.append((shown_ns, tuple(self._bytes[kind] for kind in _KINDS)))

    def peak_since(self, start_ns: int) -> int:
        """Return the largest memory in use since the start of an operation that ends now."""
        peak = self._device_bytes
        for when_ns, used in reversed(self._moments):
            if when_ns < start_ns:
                break
            peak = max(peak, used)
        return peak

    @property
    def device_bytes(self) -> int:
        """Memory in use on the device."""
        return self._device_bytes

    @property
    def host_bytes(self) -> int:
        """Memory in use on the host."""
        return self._host_bytes

    @property
    def peak_bytes(self) -> int:
        """Largest memory in use on the device in a judged period."""
        return self._peak_bytes

    @property
    def host_peak_bytes(self) -> int:
        """Largest memory in use on the host in a judged period."""
        return self._host_peak_bytes

    @property
    def profile(self) -> tuple[tuple[int, int], ...]:
        """(time, bytes in use from then on) over the period that is shown."""
        return tuple(self._profile)

    @property
    def kinds_profile(self) -> tuple[tuple[int, tuple[int, ...]], ...]:
        """(time, bytes of each kind from then on) over the period that is shown."""
        return tuple(self._kinds_profile)
