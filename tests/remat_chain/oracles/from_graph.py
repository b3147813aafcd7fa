r"""A schedule of the graph of a chain, brought back to the chain.

`chain_to_graph` turns a chain into a graph, so that a solver for graphs can be asked. Its answer is
read here as operations on the chain; the replay on the chain then judges it.

The mapping
-----------
:math:`B^\ell` runs where :math:`B_\ell` runs last before the :math:`B^{\ell-1}` so found. The run
of :math:`F_\ell` from which :math:`S_\ell` or :math:`A_\ell` is computed last before
:math:`B^\ell` becomes :math:`F_{all}^\ell`. A run before it, from which :math:`A_\ell` is computed,
becomes :math:`F_{ck}^\ell`; all others are left out. Where the graph frees :math:`A_\ell` and the
chain holds a plain :math:`a^\ell`, it is dropped: before
:math:`F^j` if the graph frees it between :math:`F_j` and the last of :math:`S_j, A_j` that are
computed from that run, but for :math:`a^{j-1}`, which goes after it. :math:`F_{ck}^\ell` and
:math:`D^{\ell-1}` next to each other are :math:`F_\emptyset^\ell`.

Let :math:`R` be the reserve of the graph. Where a schedule of the graph takes :math:`M + R < 2 R`
bytes, that of the chain takes at most :math:`M`, and no more time.

*Proof.* In less than :math:`2R` only :math:`S_\ell` and :math:`A_\ell` run while the value of
:math:`F_\ell` is there. The chain holds :math:`\bar a^\ell` only from the run of which the graph
keeps something up to :math:`B_\ell`: before that run, what the graph holds of :math:`S_\ell`, and
nobody reads, the chain does not hold, and after it the graph holds both. It holds a plain
:math:`a^\ell` and the one gradient only while the graph does. So it stores no more than the graph
and :math:`a^0`. :math:`F_{ck}^\ell` needs :math:`a^\ell + o_f` beside that, as :math:`F_\ell` does;
:math:`F_{all}^\ell` needs :math:`\bar a^\ell + \bar o_f`, as :math:`S_\ell` does; where only
:math:`A_\ell` is computed from the run, :math:`S_\ell` is in memory, and :math:`F_\ell` needs
:math:`\bar a^\ell + o_f`, which is no less. :math:`B^\ell` needs what :math:`B_\ell` does. Each of
these runs on top of
:math:`R`. :math:`\square`
"""

from __future__ import annotations

from dataclasses import dataclass, field

from jettison import Chain
from jettison.remat_chain import ChainOperation, ChainOperationKind, ChainSchedule
from jettison.remat_graph import GraphOperation, GraphOperationKind, GraphSchedule

_ALL = ChainOperationKind.FORWARD_ALL
_CHECKPOINT = ChainOperationKind.FORWARD_CHECKPOINT
_NONE = ChainOperationKind.FORWARD_NONE
_BACKWARD = ChainOperationKind.BACKWARD
_DROP = ChainOperationKind.DROP


def chain_schedule_of_graph(chain: Chain, schedule: GraphSchedule) -> ChainSchedule:
    """Return the schedule of a chain that one of `chain_to_graph(chain)` stands for.

    :math:`O(k)` for `k` operations.
    """
    events = [_Event.of(item, len(chain)) for item in schedule.operations]
    return ChainSchedule(_Mapping(len(chain), events).operations())


@dataclass(frozen=True, slots=True)
class _Event:
    """A node of the graph is computed or freed: one of F, S, A, B of a stage."""

    letter: str
    stage: int
    is_free: bool

    @classmethod
    def of(cls, item: GraphOperation, count: int) -> _Event:
        """Read an operation: F_l, S_l, A_l for each l, without A_N; then B_N, ..., B_1."""
        is_free = item.kind is GraphOperationKind.FREE
        if item.node >= 3 * count - 1:
            return cls("B", 4 * count - 1 - item.node, is_free)
        return cls("FSA"[item.node % 3], item.node // 3 + 1, is_free)


@dataclass
class _Mapping:
    """One pass over the events, with what the chain holds."""

    count: int
    events: list[_Event]
    plain: set[int] = field(default_factory=set)
    saved: set[int] = field(default_factory=set)
    found: list[ChainOperation] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._backward_at = self._backwards()
        # The last places at which A, and at which anything, is computed from a run of F; the run
        # from which the last thing before B comes; and where A is freed to be computed once more
        # from the same run, whose value is there.
        self._last_plain: dict[int, int] = {}
        self._last_use: dict[int, int] = {}
        self._saving_at: dict[int, int] = {}
        self._kept_at: set[int] = set()
        run_of: dict[int, int] = {}
        freed_at: dict[int, int] = {}
        for place, event in enumerate(self.events):
            if event.is_free:
                if event.letter == "A":
                    freed_at[event.stage] = place
            elif event.letter == "F":
                run_of[event.stage] = place
            elif event.letter != "B" and event.stage in run_of:
                run = run_of[event.stage]
                if event.letter == "A":
                    if self._last_plain.get(run, place) < freed_at.get(event.stage, -1):
                        self._kept_at.add(freed_at[event.stage])
                    self._last_plain[run] = place
                self._last_use[run] = place
                if place < self._backward_at.get(event.stage, -1):
                    self._saving_at[event.stage] = run

    def operations(self) -> tuple[ChainOperation, ...]:
        """Return the operations of the chain."""
        pending: ChainOperation | None = None
        late = False
        ends_at = -1
        for place, event in enumerate(self.events):
            if not event.is_free and event.letter in "FB":
                self._run(pending, late)
                pending, late = self._forward(place, event), False
                saves = pending is not None and pending.kind is _ALL
                ends_at = (self._last_use if saves else self._last_plain).get(place, -1)
                if event.letter == "B" and self._backward_at.get(event.stage) == place:
                    self._emit(_BACKWARD, event.stage)
            elif event.is_free and event.letter == "A" and place not in self._kept_at:
                if pending is not None and event.stage == pending.stage - 1:
                    late = True
                else:
                    self._drop(event.stage)
            if place == ends_at:
                self._run(pending, late)
                pending, late = None, False
        self._run(pending, late)
        return tuple(self.found)

    def _backwards(self) -> dict[int, int]:
        """Return where each B runs, the lowest stage first decided."""
        found: dict[int, int] = {}
        for place in range(len(self.events) - 1, -1, -1):
            event = self.events[place]
            if event.letter == "B" and not event.is_free and event.stage == len(found) + 1:
                found[event.stage] = place
        return found

    def _forward(self, place: int, event: _Event) -> ChainOperation | None:
        number = event.stage
        if event.letter != "F" or place > self._saving_at.get(number, len(self.events)):
            return None
        if place == self._saving_at.get(number):
            return ChainOperation(_ALL, number)
        return ChainOperation(_CHECKPOINT, number) if place in self._last_plain else None

    def _run(self, operation: ChainOperation | None, drops_input: bool) -> None:
        if operation is None:
            return
        self._emit(operation.kind, operation.stage)
        if drops_input:
            self._drop(operation.stage - 1)

    def _drop(self, number: int) -> None:
        if number not in self.plain:
            return
        self.plain.discard(number)
        forward = ChainOperation(_CHECKPOINT, number + 1)
        if self.found[-1:] == [forward]:
            self.found[-1] = ChainOperation(_NONE, number + 1)
        else:
            self.found.append(ChainOperation(_DROP, number))

    def _emit(self, kind: ChainOperationKind, number: int) -> None:
        self.found.append(ChainOperation(kind, number))
        if kind is _BACKWARD:
            self.saved.discard(number)
            self.plain.discard(number - 1)
        elif kind is _ALL:
            self.plain.discard(number)
            self.saved.add(number)
        else:
            self.plain.add(number)
