r"""Reductions of a sharding problem, each of which keeps at least one optimal choice.

Every function changes the state and tells whether it changed anything. The slow ones look at the
clock before each node or edge and may stop there: each step by itself keeps an optimal choice.
`keep_consistent` and `drop_rows`, which are linear in the pairs, always run to their end.
:math:`c_i, c_{ij}, u_{ri}` are as in `state`.

`keep_consistent`
    A strategy that is forbidden, that has no allowed partner at one of its edges, or that exceeds
    a row with all others at their least is in no choice. Pairs with it go too.
`fold_separable`
    If :math:`c_{ij}(a, b) = f(a) + g(b)` on all allowed pairs, f and g become costs of the nodes.
    The edge then only says which pairs are allowed; if all are, it is removed.
`drop_dominated`
    Strategy a is replaced by b in any choice without loss if b uses no more memory in any row and

    .. math:: c_i(b) + \sum_j \max_{d} \bigl( c_{ij}(b, d) - c_{ij}(a, d) \bigr) \le c_i(a)

    over the allowed partners d of a, all of which b must have (Goldstein's criterion, 1994, with
    equality allowed because strategies go one after the other).
`merge_followers`
    If each strategy of i allows only one of j, j is merged into i. The same holds if j has no other
    edge, and for each strategy of i one of j has both the least cost and the least usage in every
    row.
`eliminate_free`
    A node of at most two edges whose strategies all use the same memory is minimised out: its edges
    become costs, or one edge between its neighbours. This would be wrong for other nodes
    (`tests/sharding/test_presolve.py`).
`drop_rows`
    A row that no choice exceeds is dropped; so is one whose nodes are all in a neighbouring row
    with as much usage and no more capacity.
"""

from __future__ import annotations

from bisect import bisect_left
from typing import Any

import numpy as np
from numpy.typing import NDArray

from jettison.solvers.core.clock import Clock
from jettison.solvers.sharding.params import AS_TUNED
from jettison.solvers.sharding.presolve.state import Array, NoChoiceError, Part, ShardingState
from jettison.solvers.sharding.table_work import moves_around, moves_at

_UNLIMITED = Clock(None)


def keep_consistent(state: ShardingState, _: Clock = _UNLIMITED) -> bool:
    """Drop strategies in no choice: forbidden, without an allowed partner, or too large for a row.

    Raises
    ------
    NoChoiceError
        If a node has no strategy left, or the least usages exceed a row.
    """
    changed = _take_least_usage(state)
    waiting = set(state.alive)
    while waiting:
        node = waiting.pop()
        allowed = state.costs[node] < state.forbidden
        for other in state.neighbours[node]:
            allowed &= (state.table(node, other) < state.forbidden).any(axis=1)
        for part in state.parts[node]:
            least = min(state.capacity[part.first : part.end])
            allowed &= part.usage <= least
        if not allowed.all():
            state.keep_strategies(node, allowed)
            waiting |= state.neighbours[node]
            changed = True
    # The strategies of least usage may have been dropped.
    return _take_least_usage(state) or changed


def _take_least_usage(state: ShardingState) -> bool:
    changed = False
    for node in state.alive:
        parts = []
        for part in state.parts[node]:
            allowed = state.costs[node] < state.forbidden
            if not allowed.any():
                raise NoChoiceError(node)
            least = int(part.usage[allowed].min())
            if least:
                changed = True
                for row in range(part.first, part.end):
                    state.capacity[row] -= least
                    if state.capacity[row] < 0:
                        raise NoChoiceError(node, row)
            usage = part.usage - least
            if (usage[allowed] > 0).any():
                parts.append(Part(part.first, part.end, usage))
        state.parts[node] = parts
    return changed


def fold_separable(state: ShardingState, clock: Clock = _UNLIMITED) -> bool:
    """Move separable edges into the costs of their nodes."""
    changed = False
    for first, second in list(state.tables):
        if not clock.left_s:
            break
        table = state.tables[first, second]
        # A table that was found inseparable is not tested again until it changes.
        if state.inseparable.get((first, second)) is table:
            continue
        clock.spend(3 * moves_at([table]))
        allowed = table < state.forbidden
        split = _split(table, allowed)
        if split is None:
            state.inseparable[first, second] = table
            continue
        rows, columns = split
        if rows.any() or columns.any():
            state.costs[first] = state.plus(state.costs[first], rows)
            state.costs[second] = state.plus(state.costs[second], columns)
            state.tables[first, second] = np.where(allowed, table * 0, state.forbidden)
            changed = True
        if allowed.all():
            state.drop_table(first, second)
            changed = True
    return changed


def _split(table: Array, allowed: NDArray[np.bool_]) -> tuple[Array, Array] | None:
    """Return f and g such that table = f + g on allowed pairs; None if there are none."""
    if allowed.all():
        rows, columns = table[:, 0], table[0] - table[0, 0]
        return (rows, columns) if (rows[:, None] + columns == table).all() else None
    rows, columns = table[:, 0] * 0, table[0] * 0
    rows_known = np.zeros(len(rows), dtype=bool)
    columns_known = np.zeros(len(columns), dtype=bool)
    for start in range(len(rows)):
        if rows_known[start]:
            continue
        # Each connected set of allowed pairs has potentials of its own.
        rows_known[start] = True
        waiting = [(start, True)]
        while waiting:
            place, is_row = waiting.pop()
            if is_row:
                found = allowed[place] & ~columns_known
                columns[found] = table[place, found] - rows[place]
                columns_known |= found
            else:
                found = allowed[:, place] & ~rows_known
                rows[found] = table[found, place] - columns[place]
                rows_known |= found
            waiting.extend((int(other), not is_row) for other in np.flatnonzero(found))
    fits = (rows[:, None] + columns[None, :] == table) | ~allowed
    return (rows, columns) if fits.all() else None


def drop_dominated(state: ShardingState, clock: Clock = _UNLIMITED) -> bool:
    """Drop strategies that another one of the same node replaces without loss."""
    changed = False
    waiting = set(state.alive)
    while waiting and clock.left_s:
        node = waiting.pop()
        clock.spend(1.5 * moves_around(state, node))
        kept = _undominated(state, node)
        if not kept.all():
            state.keep_strategies(node, kept)
            waiting |= state.neighbours[node]
            waiting.add(node)
            changed = True
    return changed


def _undominated(state: ShardingState, node: int) -> NDArray[np.bool_]:
    costs = state.costs[node]
    size = len(costs)
    # gain[a, b]: how much b may cost more than a at the edges, in the worst case.
    worst = np.zeros((size, size), dtype=state.dtype)
    possible = np.ones((size, size), dtype=bool)
    for _, _, usage in state.usage_columns(node):
        possible &= usage[None, :] <= usage[:, None]
    np.fill_diagonal(possible, False)
    if not possible.any():
        return np.ones(size, dtype=bool)
    for other in state.neighbours[node]:
        table = state.table(node, other)
        allowed = table < state.forbidden
        # Axes: a, b, strategy of the other node.
        possible &= (allowed[None, :, :] | ~allowed[:, None, :]).all(axis=2)
        both = allowed[None, :, :] & allowed[:, None, :]
        more = np.where(both, table[None, :, :] - table[:, None, :], -state.forbidden)
        worst = worst + more.max(axis=2)
        if not possible.any():
            return np.ones(size, dtype=bool)
    replaces = possible & (costs[None, :] + worst <= costs[:, None])
    kept = np.ones(size, dtype=bool)
    for strategy in range(size):
        # A dropped strategy dominates no other, so that one of several equal ones stays.
        if (replaces[strategy] & kept).any():
            kept[strategy] = False
    return kept


def merge_followers(state: ShardingState, clock: Clock = _UNLIMITED) -> bool:
    """Merge nodes whose strategy follows from that of a neighbour into that neighbour."""
    changed = False
    for node in sorted(state.alive):
        if not clock.left_s:
            break
        clock.spend(moves_around(state, node) / 2)
        for leader in sorted(state.neighbours[node]):
            follows = _follows(state, node, leader)
            if follows is not None:
                _merge(state, node, leader, follows)
                changed = True
                break
        else:
            if not state.neighbours[node]:
                best = _best_without_loss(state, node, state.costs[node][None, :])
                if best is not None:
                    state.offset += int(state.costs[node][best[0]])
                    for part in state.parts[node]:
                        for row in range(part.first, part.end):
                            state.capacity[row] -= int(part.usage[best[0]])
                    state.remove(node, (), np.array(best[0]))
                    changed = True
    return changed


def _follows(state: ShardingState, node: int, leader: int) -> NDArray[np.int64] | None:
    """Return the node's strategy for each one of the leader; None if it is not determined."""
    table = state.table(leader, node)
    allowed = table < state.forbidden
    if (allowed.sum(axis=1) == 1).all():
        follows: NDArray[np.int64] = allowed.argmax(axis=1)
        return follows
    if len(state.neighbours[node]) == 1:
        return _best_without_loss(state, node, state.plus(table, state.costs[node][None, :]))
    return None


def _best_without_loss(state: ShardingState, node: int, costs: Array) -> NDArray[np.int64] | None:
    """Return for each row of `costs` the column with both least cost and least usage, or None."""
    allowed = costs < state.forbidden
    best = allowed & (costs == costs.min(axis=1)[:, None])
    for _, _, usage in state.usage_columns(node):
        beside = np.where(allowed, usage[None, :], state.forbidden)
        best &= beside == beside.min(axis=1)[:, None]
    if not best.any(axis=1).all():
        return None
    found: NDArray[np.int64] = best.argmax(axis=1)
    return found


def _merge(state: ShardingState, node: int, leader: int, follows: NDArray[np.int64]) -> None:
    own = state.table(leader, node)[np.arange(len(follows)), follows]
    state.costs[leader] = state.plus(
        state.plus(state.costs[leader], own), state.costs[node][follows]
    )
    moved = [
        (other, state.table(node, other)[follows])
        for other in state.neighbours[node]
        if other != leader
    ]
    parts = state.parts[leader] + [
        Part(part.first, part.end, part.usage[follows]) for part in state.parts[node]
    ]
    state.remove(node, (leader,), follows)
    for other, table in moved:
        state.add_table(leader, other, table)
    state.parts[leader] = parts
    state.parts[leader] = [Part(*column) for column in state.usage_columns(leader)]


def eliminate_free(
    state: ShardingState,
    clock: Clock = _UNLIMITED,
    most_more_pairs: int = AS_TUNED.most_more_pairs,
) -> bool:
    """Minimise out the nodes of at most two edges that use no memory beyond their least."""
    changed = False
    for node in sorted(state.alive):
        if not clock.left_s:
            break
        neighbours = sorted(state.neighbours[node])
        if state.parts[node] or len(neighbours) > 2:
            continue
        if not neighbours:
            best = state.costs[node].argmin()
            state.offset += int(state.costs[node][best])
            state.remove(node, (), np.array(best))
        elif len(neighbours) == 1:
            (other,) = neighbours
            costs = state.plus(state.table(other, node), state.costs[node][None, :])
            best = costs.argmin(axis=1)
            state.remove(node, (other,), best)
            state.costs[other] = state.plus(state.costs[other], costs.min(axis=1))
        else:
            first, second = neighbours
            left, right = state.table(first, node), state.table(second, node)
            clock.spend(3 * moves_at([left, right]))
            before = left.size + right.size
            if len(left) * len(right) > before + most_more_pairs:
                continue
            costs = state.plus(
                state.plus(left, state.costs[node][None, :])[:, None, :], right[None, :, :]
            )
            best = costs.argmin(axis=2)
            state.remove(node, (first, second), best)
            state.add_table(first, second, costs.min(axis=2))
        changed = True
    return changed


def drop_rows(state: ShardingState, _: Clock = _UNLIMITED) -> bool:
    """Drop memory rows that no choice exceeds or that a neighbouring row implies."""
    rows = len(state.capacity)
    most = [0] * rows
    usages: list[dict[int, tuple[Any, ...]]] = [{} for _ in range(rows)]
    for node in state.alive:
        for first, end, usage in state.usage_columns(node):
            largest, values = int(usage.max()), tuple(usage.tolist())
            for row in range(first, end):
                most[row] += largest
                usages[row][node] = values
    kept: list[int] = []
    for row in range(rows):
        if most[row] <= state.capacity[row]:
            continue
        while kept and _implies(state, usages, row, kept[-1]):
            kept.pop()
        if not (kept and _implies(state, usages, kept[-1], row)):
            kept.append(row)
    if len(kept) == rows:
        return False
    state.capacity = [state.capacity[row] for row in kept]
    state.times = [state.times[row] for row in kept]
    for node in state.alive:
        parts = []
        for part in state.parts[node]:
            first, end = (bisect_left(kept, row) for row in (part.first, part.end))
            if first < end:
                parts.append(Part(first, end, part.usage))
        state.parts[node] = parts
        state.parts[node] = [Part(*column) for column in state.usage_columns(node)]
    return True


def _implies(
    state: ShardingState, usages: list[dict[int, tuple[Any, ...]]], row: int, other: int
) -> bool:
    """Tell whether every choice within the limit of `row` is within that of `other`."""
    if state.capacity[row] > state.capacity[other] or len(usages[row]) < len(usages[other]):
        return False
    return all(
        node in usages[row]
        and all(one <= two for one, two in zip(values, usages[row][node], strict=True))
        for node, values in usages[other].items()
    )
