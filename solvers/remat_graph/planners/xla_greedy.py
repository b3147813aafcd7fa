r"""xla-greedy: XLA's rematerialization pass, which frees the most bytes at every excess.

Source: OpenXLA, ``xla/hlo/transforms/simplifiers/hlo_rematerialization.cc`` (commit 2c10382, 2026),
the pass ``RematerializeComputation`` with its strategy *recompute*.

The instructions are placed one after the other, in the order given. While one is placed and the
memory in use is above the limit, a candidate is chosen among those placed before: one whose value
is in memory and is not read just now nor returned, and that frees bytes: its own, less those of its
operands that are not in memory any more and would have to stay. Its cost is

.. math:: \lfloor B / \text{bytes freed} \rfloor ,

or 0 if none of its users has been placed, which makes it a move; the first of the least cost is
chosen. Time takes no part: "running out of memory is more harmful". All users to come read a copy
of it, which is placed before the first of them, and before the first user to come of one of its
operands, so that no operand stays longer than it did. A copy may be chosen again; one that is the
move of a move may not. If no single instruction helps, neighbours are tried as a block of 2, then
of 3 or 4, and so on up to the largest block. One that none helps is left above the limit.

Differences
-----------
* In HLO there may be two copies of a value at once, and each reads its own operands. Here a value
  is in memory once, and is that of the last computation; the memory is never more.
* Every operation may be computed again, products and random operators too, but those that are
  computed once (`Graph.computed_once`). In XLA those that were rewritten to library calls may not.
* The limit is the memory; XLA takes the size of all results from it, since the caller has them.
  A block is looked for whatever the effort (``block_rematerialization_factor``).
* Compression and copies to the host are other strategies of the pass, and are left out.
* HLO is fused when the pass runs; a graph is as fine as its tracer made it.

Complexity: :math:`O(n)` for each candidate that is chosen, times the largest block.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from jettison.instances.core.units import format_bytes
from jettison.instances.remat_graph.graph import Graph
from jettison.instances.remat_graph.problem import RematGraph
from jettison.schedules.remat_graph.schedule import GraphSchedule
from jettison.solvers.core.clock import Clock
from jettison.solvers.core.ending import Ending
from jettison.solvers.core.outcome import Outcome, SolveOptions
from jettison.solvers.core.params import Params
from jettison.solvers.core.status import Termination
from jettison.solvers.remat_graph.operators import on_held_values


@dataclass(frozen=True, kw_only=True)
class XlaGreedyParams(Params):
    """Parameters of the pass.

    Attributes
    ----------
    largest_block
        Most neighbouring instructions that are computed again as one.
    """

    largest_block: int = 8


XLA_GREEDY = XlaGreedyParams()


@on_held_values
def solve_xla_greedy(
    problem: RematGraph, options: SolveOptions, params: XlaGreedyParams = XLA_GREEDY
) -> Outcome:
    """Return the schedule that the pass leaves, if it fits."""
    graph = problem.instance
    rewriting = GreedyPass(graph, problem.memory_bytes, params.largest_block)
    clock = Clock(options.time_limit_s)
    with Ending() as ending:
        rewriting.run(clock)
    if ending.termination is not Termination.COMPLETED:
        return Outcome(termination=ending.termination, note="xla-greedy was not at its end by then")
    schedule = GraphSchedule.from_computations(graph, rewriting.computations)
    peak_bytes = schedule.replay(graph).peak_bytes
    work = {"copies": rewriting.copies}
    if peak_bytes <= problem.memory_bytes:
        return Outcome(termination=Termination.COMPLETED, schedule=schedule, work=work)
    note = (
        f"xla-greedy ends with a peak of {format_bytes(peak_bytes)} ({peak_bytes} bytes), above "
        "the memory"
    )
    return Outcome(termination=Termination.COMPLETED, work=work, note=note)


@dataclass(eq=False, slots=True)
class _Item:
    """Instruction, or a copy of one.

    Attributes
    ----------
    node
        Its node.
    operands, users
        What it reads, and what reads it.
    is_placed
        Whether its turn has come.
    is_alive
        Whether its value is in memory.
    unfinished
        Number of users that have not run.
    is_denied
        Whether it may not be computed again.
    """

    node: int
    operands: list[_Item] = field(default_factory=list)
    users: list[_Item] = field(default_factory=list)
    is_placed: bool = False
    is_alive: bool = False
    unfinished: int = 0
    is_denied: bool = False


class GreedyPass:
    """The pass over one graph.

    Parameters
    ----------
    graph
        The instance.
    memory_bytes
        The limit.
    largest_block
        As in `XlaGreedyParams`.

    Attributes
    ----------
    copies
        Number of computations that were added.
    """

    def __init__(self, graph: Graph, memory_bytes: int, largest_block: int) -> None:
        self._graph = graph
        self._memory_bytes = memory_bytes
        self._largest_block = largest_block
        self._size = [node.output_bytes for node in graph.nodes]
        self._items = [
            _Item(node, is_denied=node in graph.computed_once) for node in range(len(graph))
        ]
        for item in self._items:
            item.operands = [self._items[source] for source in graph.inputs[item.node]]
            item.users = [self._items[user] for user in graph.users[item.node]]
            # What is kept is read at the end.
            item.unfinished = len(item.users) + graph.nodes[item.node].keep
        self._moves: set[_Item] = set()
        self._replaced: set[_Item] = set()
        self._stored = 0
        self.copies = 0

    @property
    def computations(self) -> list[int]:
        """The computations, in order; what nothing reads any more, since it was moved, is gone."""
        dead: set[_Item] = set()
        for item in reversed(self._items):
            is_unread = item in self._replaced if not item.users else dead.issuperset(item.users)
            if is_unread and not self._graph.nodes[item.node].keep:
                dead.add(item)
        return [item.node for item in self._items if item not in dead]

    def run(self, clock: Clock) -> None:
        """Place all instructions.

        Raises
        ------
        OutOfTimeError
            When the time is up.
        """
        at = 0
        while at < len(self._items):
            item = self._items[at]
            item.is_placed = item.is_alive = True
            self._stored += self._size[item.node]
            if self._size[item.node]:
                self._make_room(item, clock)
            self._finish(item)
            at += 1

    def _make_room(self, item: _Item, clock: Clock) -> None:
        """Compute again later what is in memory, while there is too much."""
        least = most = 1
        workspace = self._graph.nodes[item.node].workspace_bytes
        while self._stored + workspace > self._memory_bytes and most <= self._largest_block:
            clock.require_time()
            block = self._best_block(item, least, most)
            if block:
                for chosen in reversed(block):
                    if any(not user.is_placed for user in chosen.users):
                        self._compute_again(chosen)
                least = most = 1
            else:
                least, most = most + 1, 2 * most

    def _finish(self, item: _Item) -> None:
        for operand in item.operands:
            operand.unfinished -= 1
            self._free_if_dead(operand)
        self._free_if_dead(item)

    def _free_if_dead(self, item: _Item) -> None:
        if item.unfinished == 0 and item.is_alive:
            item.is_alive = False
            self._stored -= self._size[item.node]

    def _best_block(self, current: _Item, least: int, most: int) -> Sequence[_Item]:
        """Return the first block of least cost that frees bytes, or nothing."""
        best: Sequence[_Item] = ()
        best_cost: int | None = None
        for start in range(len(self._items)):
            if not self._items[start].is_placed or self._items[start] is current:
                break
            for block in self._blocks(start, current, least, most):
                freed = self._bytes_freed(block, current)
                if freed <= 0:
                    continue
                is_move = not any(user.is_placed for item in block for user in item.users)
                cost = 0 if is_move else self._memory_bytes // freed
                if best_cost is None or cost < best_cost:
                    best, best_cost = block, cost
        return best

    def _blocks(
        self, start: int, current: _Item, least: int, most: int
    ) -> Iterator[Sequence[_Item]]:
        """Yield the blocks that begin at a place and have a permitted length."""
        for end in range(start + 1, start + most + 1):
            if end > len(self._items):
                return
            last = self._items[end - 1]
            if last is current or not last.is_placed or last.is_denied:
                return
            if end - start >= least:
                yield self._items[start:end]

    def _bytes_freed(self, block: Sequence[_Item], current: _Item) -> int:
        """Return the bytes that are free now if a block is computed again later."""
        freed = 0
        within: set[_Item] = set()
        for item in block:
            if self._graph.nodes[item.node].keep or item in current.operands:
                return 0
            if item.is_alive:
                freed += self._size[item.node]
            freed -= sum(
                self._size[operand.node]
                for operand in item.operands
                if not operand.is_alive and operand not in within
            )
            within.add(item)
        return freed

    def _compute_again(self, item: _Item) -> None:
        """Let all users to come read a copy, and place it before the first of them."""
        copy = _Item(item.node, operands=list(item.operands))
        copy.users = [user for user in item.users if not user.is_placed]
        item.users = [user for user in item.users if user.is_placed]
        copy.unfinished, item.unfinished = len(copy.users), 0
        for user in copy.users:
            user.operands[user.operands.index(item)] = copy
        self._free_if_dead(item)
        before = set(copy.users)
        for operand in copy.operands:
            before.update(user for user in operand.users if not user.is_placed)
            operand.users.append(copy)
            operand.unfinished += 1
            if not operand.is_alive:
                operand.is_alive = True
                self._stored += self._size[operand.node]
        place = next(place for place, other in enumerate(self._items) if other in before)
        self._items.insert(place, copy)
        self.copies += 1
        self._replaced.add(item)
        if not item.users:
            # A move; the move of a move would go on for ever.
            copy.is_denied = item in self._moves
            self._moves.add(copy)
