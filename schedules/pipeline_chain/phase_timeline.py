r"""Times of the phases of a pipeline, in a given order on each device.

A phase starts when the device is free and what it reads has arrived. Its result is sent as soon as
the buffer of the receiver is free, that is, when the phase that reads the result before it has
started there; until the transfer has ended the device does nothing else. There is a buffer for
each part and direction.

No device of 1F1B waits for ever: of the devices that wait, one that waits to send has at least
:math:`K_i` micro-batches before it that the receiver has not begun, while the order of the receiver
lets it begin the next one after at most one gradient, for which there is a buffer. Whether an order
ends does not depend on the times. That the interleaved one does is tested for up to 8 devices,
5 chunks, and 3 micro-batches for each device.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from jettison.schedules.pipeline_chain.phase_order import Turn, device_turns


@dataclass(frozen=True, slots=True)
class PhaseTimes:
    """Times of the phases of a part, in nanoseconds: two of computing, two of sending."""

    forward_ns: int
    backward_ns: int
    send_forward_ns: int = 0
    send_backward_ns: int = 0

    @property
    def busy_ns(self) -> int:
        """Time in which a micro-batch occupies the device with this part."""
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
    chunk
        Which of the parts of the device, from 1.
    """

    is_backward: bool
    microbatch: int
    start_ns: int
    end_ns: int
    sent_from_ns: int
    sent_ns: int
    chunk: int = 1


def run_1f1b(devices: Sequence[PhaseTimes], microbatches: int) -> list[list[RunPhase]]:
    """Run a step in the order 1F1B; :math:`O(p m)` phases. See `run_phases`."""
    return run_phases(devices, len(devices), microbatches)


def run_phases(
    parts: Sequence[PhaseTimes], devices: int, microbatches: int
) -> list[list[RunPhase]]:
    """Run a step, and return the phases of each device in their order.

    Parameters
    ----------
    parts
        Times of the phases of each part along the chain, a multiple of `devices`: as many is 1F1B,
        more is interleaved.
    devices
        Number of devices.
    microbatches
        Number of micro-batches.
    """
    chunks = len(parts) // devices
    orders = [device_turns(devices, at + 1, chunks, microbatches) for at in range(devices)]
    ran: list[list[RunPhase]] = [[] for _ in orders]
    # When phases started and when their results arrived, by direction, part and micro-batch.
    started: dict[tuple[bool, int, int], int] = {}
    arrived: dict[tuple[bool, int, int], int] = {
        (False, 0, number): 0 for number in range(1, microbatches + 1)
    }
    free_ns = [0] * devices
    waiting = list(range(devices))
    while waiting:
        progressed = False
        for at in waiting:
            while len(ran[at]) < len(orders[at]):
                turn = orders[at][len(ran[at])]
                key = (turn.is_backward, turn.part, turn.microbatch)
                if key not in started:
                    if key not in arrived:
                        break
                    started[key] = max(free_ns[at], arrived[key])
                    progressed = True
                phase = _sent(parts, turn, turn.part // devices + 1, started)
                if phase is None:
                    break
                ran[at].append(phase)
                free_ns[at] = phase.sent_ns
                progressed = True
                if not turn.is_backward and turn.part == len(parts) - 1:
                    arrived[(True, turn.part, turn.microbatch)] = phase.end_ns
                else:
                    to = turn.part - 1 if turn.is_backward else turn.part + 1
                    arrived[(turn.is_backward, to, turn.microbatch)] = phase.sent_ns
        waiting = [at for at in waiting if len(ran[at]) < len(orders[at])]
        # Were this ever false, devices would wait for each other: see above.
        assert progressed or not waiting
    return ran


def _sent(
    parts: Sequence[PhaseTimes],
    turn: Turn,
    chunk: int,
    started: dict[tuple[bool, int, int], int],
) -> RunPhase | None:
    """Return a phase that has started, with its send; None while the receiver has no room."""
    times, number, is_backward = parts[turn.part], turn.microbatch, turn.is_backward
    start_ns = started[(is_backward, turn.part, number)]
    end_ns = start_ns + (times.backward_ns if is_backward else times.forward_ns)
    receiver = turn.part - 1 if is_backward else turn.part + 1
    if not 0 <= receiver < len(parts):
        return RunPhase(is_backward, number, start_ns, end_ns, end_ns, end_ns, chunk)
    room_ns = 0
    if number > 1:
        before = started.get((is_backward, receiver, number - 1))
        if before is None:
            return None
        room_ns = before
    from_ns = max(end_ns, room_ns)
    took_ns = times.send_backward_ns if is_backward else times.send_forward_ns
    return RunPhase(is_backward, number, start_ns, end_ns, from_ns, from_ns + took_ns, chunk)
