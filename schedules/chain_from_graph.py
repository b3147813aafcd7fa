r"""A schedule of the graph of a chain, brought back to the chain.

`chain_to_graph` turns a chain into a graph, so that a solver for graphs can be asked. Its answer is
read here as operations on the chain; the replay on the chain then judges it.

The mapping
-----------
Only the runs of :math:`F_\ell` and the first run of each :math:`B_\ell` count, in their order.
The last run of :math:`F_\ell` before :math:`B_\ell` becomes :math:`F_{all}^\ell`. A run before
that is left out where the chain holds stage :math:`\ell`. Else it becomes
:math:`F_\emptyset^\ell` if stage :math:`\ell - 1` is computed anew before it is read again, and
:math:`F_{ck}^\ell` if not.

The operations of the chain find their inputs wherever those of the graph do, and they take no more
time. Whether they fit in :math:`M` bytes where the graph took :math:`M + R` is for the replay to
say. They need not: the graph drops :math:`a^\ell` while it holds the rest of
:math:`\bar a^\ell`, and where :math:`o_f > e` it forgives some of a forward's overhead
(`chain_to_graph` has the letters).
"""

from __future__ import annotations

from typing import NamedTuple

from jettison.instances.chain import Chain
from jettison.schedules.chain_schedule import ChainOperation, ChainOperationKind, ChainSchedule
from jettison.schedules.graph_schedule import GraphSchedule


class _Run(NamedTuple):
    """One run of a forward or of a backward node."""

    stage: int
    backward: bool


def chain_schedule_of_graph(chain: Chain, schedule: GraphSchedule) -> ChainSchedule:
    """Return the schedule of a chain that one of `chain_to_graph(chain)` stands for.

    :math:`O(k^2)` for `k` computations.
    """
    runs = _runs(len(chain), schedule)
    backward_at = {run.stage: place for place, run in enumerate(runs) if run.backward}
    # What is computed after its backward, or without one, is of no use.
    useful = [
        run
        for place, run in enumerate(runs)
        if run.backward or place < backward_at.get(run.stage, -1)
    ]
    saving_at = {run.stage: place for place, run in enumerate(useful) if not run.backward}
    held: set[int] = set()
    operations: list[ChainOperation] = []
    for place, (stage, backward) in enumerate(useful):
        if backward:
            kind = ChainOperationKind.BACKWARD
        elif place == saving_at[stage]:
            kind = ChainOperationKind.FORWARD_ALL
            held.add(stage)
        elif stage in held:
            continue
        else:
            kind = ChainOperationKind.FORWARD_CHECKPOINT
            held.add(stage)
            if _is_computed_before_read(useful[place + 1 :], stage - 1):
                kind = ChainOperationKind.FORWARD_NONE
                held.discard(stage - 1)
        operations.append(ChainOperation(kind, stage))
    return ChainSchedule(tuple(operations))


def _is_computed_before_read(runs: list[_Run], stage: int) -> bool:
    """Tell whether a stage is computed anew before it is read: by F or B of the next stage."""
    for run in runs:
        if run.stage == stage + 1:
            return False
        if run == _Run(stage, backward=False):
            return True
    return False


def _runs(count: int, schedule: GraphSchedule) -> list[_Run]:
    """Return the runs of F and the first run of each B; A and S hand on what F made."""
    runs: list[_Run] = []
    for node in schedule.computations:
        # F_l, S_l, A_l for each l, without A_N; then B_N, ..., B_1.
        if node >= 3 * count - 1:
            run = _Run(4 * count - 1 - node, backward=True)
            if run not in runs:
                runs.append(run)
        elif node % 3 == 0:
            runs.append(_Run(node // 3 + 1, backward=False))
    return runs
