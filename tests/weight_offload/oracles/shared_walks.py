"""The least period of a tiny step on a link that both directions share, by search over moments.

The search of `brute_force` with the rule of transfers replaced: a transfer has units of work left,
of which a byte is two, and loses what its direction moves in each nanosecond.
"""

from __future__ import annotations

from dataclasses import replace

from jettison.instances.weight_offload.problem import WeightOffload
from tests.weight_offload.oracles.brute_force import Moment, Walks, closed_walk


class SharedWalks(Walks):
    """The moves of one problem, with whole bytes per ns of one direction and of both."""

    def __init__(self, problem: WeightOffload, alone: int, together: int) -> None:
        super().__init__(replace(problem, bandwidth=500_000_000))
        self.alone = 2 * alone
        self.together = together

    def tick(self, state: Moment) -> Moment:
        """The state one nanosecond later."""
        moved = self.together if state.up is not None and state.down is not None else self.alone

        def later(transfer: tuple[int, int] | None) -> tuple[int, int] | None:
            # The last unit is left for the tick of the search over full-duplex links.
            return None if transfer is None else (transfer[0], max(1, transfer[1] - moved + 1))

        return super().tick(replace(state, up=later(state.up), down=later(state.down)))


def least_shared_period_ns(problem: WeightOffload, alone: int, together: int) -> int | None:
    """Return the least integer period of any valid schedule, None if nothing fits."""
    found = closed_walk(SharedWalks(problem, alone, together), problem)
    return None if found is None else found[0]
