r"""Where a step with offloaded weights is cut, and every state in which it can be there.

The cut is right before an operation starts. Between two uses of its weights a layer has one of
these statuses (the proofs are in `solvers.weight_exact`):

* absent, or arriving: the host has the newest copy;
* stale: resident, and the host's copy is older than the last backward; or being uploaded;
* returned: resident, and the host has the newest copy, for they were absent since the last use or
  before it;
* owed, between backward and forward only: uploaded early, and deleted after the forward.

Weights of no bytes are resident for ever.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from jettison.instances.weight_cycle import CycleOperation
from jettison.instances.weight_offload import WeightOffload
from jettison.solvers import _kernels


@dataclass(frozen=True, slots=True)
class Beginning:
    """A state at the cut; sets of layers are words, layers are numbered from 0.

    Attributes
    ----------
    resident, hosted, owed
        Whose weights are in memory; of which the host has the newest copy; which have been
        uploaded and are still to be deleted.
    up, down
        Whose weights are on their way to and from the host, or `_kernels.IDLE_LINK`.
    up_ns, down_ns
        What is left of these transfers at most.
    """

    resident: int
    hosted: int
    owed: int
    up: int
    down: int
    up_ns: int = 0
    down_ns: int = 0

    @property
    def row(self) -> tuple[int, ...]:
        """As the kernel takes it."""
        return (
            self.resident,
            self.hosted,
            self.owed,
            self.up,
            self.down,
            self.up_ns,
            self.down_ns,
        )

    def raised(self, up_ns: int, down_ns: int) -> Beginning:
        """Return the same with more left of the transfers."""
        return replace(self, up_ns=up_ns, down_ns=down_ns)


@dataclass(frozen=True, slots=True)
class CutCycle:
    """The operations of a problem, from one of them on.

    Attributes
    ----------
    problem
        Whose.
    first
        The index of the operation that comes first now.
    """

    problem: WeightOffload
    first: int

    @property
    def operations(self) -> tuple[CycleOperation, ...]:
        """All of them, each once."""
        listed = self.problem.cycle.operations
        return listed[self.first :] + listed[: self.first]

    def beginnings(self, most: int) -> list[Beginning] | None:
        """Return all states at the cut, with nothing left of transfers; None if more than `most`.

        Notes
        -----
        Time :math:`O(5^L)` at the worst; statuses that do not fit are cut off layer by layer.
        """
        found: list[Beginning] = []
        for beginning in self._extend(0, Beginning(0, 0, 0, *[_kernels.IDLE_LINK] * 2)):
            found.append(beginning)
            if len(found) > most:
                return None
        return found

    def _extend(self, layer: int, state: Beginning) -> Iterator[Beginning]:
        """All states that agree with one in which the layers before are settled."""
        weights = self.problem.cycle.weight_bytes
        if layer == len(weights):
            yield state
            return
        bit = 1 << layer
        if weights[layer] == 0:
            yield from self._extend(
                layer + 1, replace(state, resident=state.resident | bit, hosted=state.hosted | bit)
            )
            return
        first = self.operations[0]
        runs_next = first.layer == layer + 1
        if not runs_next:
            yield from self._extend(layer + 1, replace(state, hosted=state.hosted | bit))
        kept = replace(state, resident=state.resident | bit)
        if not self._fits(kept, layer):
            return
        yield from self._extend(layer + 1, kept)
        if state.up == _kernels.IDLE_LINK and not (runs_next and first.is_backward):
            yield from self._extend(layer + 1, replace(kept, up=layer))
        copied = replace(kept, hosted=kept.hosted | bit)
        yield from self._extend(layer + 1, copied)
        if self._forward_comes_first(layer + 1):
            yield from self._extend(layer + 1, replace(copied, owed=copied.owed | bit))
        if state.down == _kernels.IDLE_LINK and not runs_next:
            yield from self._extend(layer + 1, replace(copied, down=layer))

    def _fits(self, state: Beginning, last: int) -> bool:
        """Whether the first operation can start with these weights, and its own."""
        first = self.operations[0]
        weights = self.problem.cycle.weight_bytes
        size_bytes = sum(weights[k] for k in range(last + 1) if state.resident >> k & 1)
        if first.layer - 1 > last:
            size_bytes += weights[first.layer - 1]
        return size_bytes + first.working_bytes <= self.problem.memory_bytes

    def _forward_comes_first(self, layer: int) -> bool:
        return not next(item for item in self.operations if item.layer == layer).is_backward


def best_cut(problem: WeightOffload, most: int) -> tuple[CutCycle, list[Beginning]] | None:
    """Return the cut with the fewest states; None if all have more than `most`."""
    weights = problem.cycle.weight_bytes
    needs = [item.working_bytes + weights[item.layer - 1] for item in problem.cycle]
    best: tuple[CutCycle, list[Beginning]] | None = None
    # Where the least room is left there are few states: the others are soon given up.
    for first in sorted(range(len(needs)), key=lambda index: -needs[index]):
        cut = CutCycle(problem, first)
        states = cut.beginnings(most if best is None else len(best[1]) - 1)
        if states is not None:
            best = cut, states
    return best
