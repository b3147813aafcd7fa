r"""1F1B: the order of the phases on each device of a pipeline, and their times.

Device :math:`i` runs :math:`K_i` forward phases, then a backward phase and a forward phase in turn
while there are any, then the backward phases that are left. A phase starts when the device is free
and what it reads has arrived. Its result is sent as soon as the buffer of the receiver is free,
that is, when the phase that reads the result before it has started there; until the transfer has
ended the device does nothing else. No device waits for ever: of the devices that wait, one that
waits to send has at least :math:`K_i` micro-batches before it that the receiver has not begun,
while the order of the receiver lets it begin the next one after at most one gradient, for which
there is a buffer.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class PhaseTimes:
    """Times of the phases of a device, in nanoseconds: two of computing, two of sending."""

    forward_ns: int
    backward_ns: int
    send_forward_ns: int = 0
    send_backward_ns: int = 0

    @property
    def busy_ns(self) -> int:
        """Time in which a micro-batch occupies the device."""
        return self.forward_ns + self.backward_ns + self.send_forward_ns + self.send_backward_ns


@dataclass(frozen=True, slots=True)
class RunPhase:
    """Phase as it ran: of which micro-batch, when it computed, and when its result had been sent.

    Attributes
    ----------
    is_backward, microbatch
        Kind of phase, and the number of the micro-batch, from 1.
    start_ns, end_ns
        When it computed.
    sent_from_ns, sent_ns
        When its result was sent; both `end_ns` where nothing is.
    """

    is_backward: bool
    microbatch: int
    start_ns: int
    end_ns: int
    sent_from_ns: int
    sent_ns: int


def order_of(in_flight: int, microbatches: int) -> list[tuple[bool, int]]:
    """Return the phases of a device in order: whether they run backward, and the micro-batch."""
    order = [(False, number) for number in range(1, in_flight + 1)]
    for number in range(1, microbatches + 1):
        order.append((True, number))
        if number + in_flight <= microbatches:
            order.append((False, number + in_flight))
    return order


def run_1f1b(devices: Sequence[PhaseTimes], microbatches: int) -> list[list[RunPhase]]:
    """Run a step, and return the phases of each device in their order; :math:`O(p m)` phases.

    Parameters
    ----------
    devices
        Times of the phases of each device.
    microbatches
        Number of micro-batches.
    """
    count = len(devices)
    orders = [order_of(min(microbatches, count - at), microbatches) for at in range(count)]
    ran: list[list[RunPhase]] = [[] for _ in devices]
    # When phases started and when their results arrived, by direction, device and micro-batch.
    started: dict[tuple[bool, int, int], int] = {}
    arrived: dict[tuple[bool, int, int], int] = {
        (False, 0, number): 0 for number in range(1, microbatches + 1)
    }
    free_ns = [0] * count
    waiting = list(range(count))
    while waiting:
        progressed = []
        for at in waiting:
            while len(ran[at]) < len(orders[at]):
                is_backward, number = orders[at][len(ran[at])]
                key = (is_backward, at, number)
                if key not in started:
                    if key not in arrived:
                        break
                    started[key] = max(free_ns[at], arrived[key])
                    progressed.append(at)
                phase = _sent(devices, at, is_backward, number, started)
                if phase is None:
                    break
                ran[at].append(phase)
                free_ns[at] = phase.sent_ns
                progressed.append(at)
                if not is_backward and at == count - 1:
                    arrived[(True, at, number)] = phase.end_ns
                else:
                    arrived[(is_backward, at - 1 if is_backward else at + 1, number)] = (
                        phase.sent_ns
                    )
        # Were this ever empty, devices would wait for each other: the docstring says why not.
        assert progressed or all(len(ran[at]) == len(orders[at]) for at in waiting)
        waiting = [at for at in waiting if len(ran[at]) < len(orders[at])]
    return ran


def _sent(
    devices: Sequence[PhaseTimes],
    at: int,
    is_backward: bool,
    number: int,
    started: dict[tuple[bool, int, int], int],
) -> RunPhase | None:
    """Return a phase that has started, with its send; None while the receiver has no room."""
    times = devices[at]
    start_ns = started[(is_backward, at, number)]
    end_ns = start_ns + (times.backward_ns if is_backward else times.forward_ns)
    receiver = at - 1 if is_backward else at + 1
    if not 0 <= receiver < len(devices):
        return RunPhase(is_backward, number, start_ns, end_ns, end_ns, end_ns)
    room_ns = 0
    if number > 1:
        before = started.get((is_backward, receiver, number - 1))
        if before is None:
            return None
        room_ns = before
    from_ns = max(end_ns, room_ns)
    took_ns = times.send_backward_ns if is_backward else times.send_forward_ns
    return RunPhase(is_backward, number, start_ns, end_ns, from_ns, from_ns + took_ns)
