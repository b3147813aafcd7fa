r"""Saved calls: which operator calls of checkpointed regions are worth their memory.

A step whose regions run again in the backward pass is given, with the memory :math:`m_t` of each of
its computations :math:`t` where nothing is saved. A call :math:`c` that may be saved takes the time
:math:`d_c` when it runs again. Its results :math:`r` have :math:`M_r` bytes; between the end
:math:`e_r` of a result in the forward pass and the place :math:`a_c` of the second run they are in
memory only if the call is saved. Since a region runs again as a whole, what one call saves does not
depend on the others, and neither does its memory: both are sums.

.. math::

    \min_{x \in \{0, 1\}} \sum_c d_c (1 - x_c)

    \text{memory}_t: \quad \sum_{c,\, r:\ e_r < t < a_c} M_r x_c - w_t x_{c(t)} \le B - m_t

    \text{draws}_{c, c'}: \quad x_c \le x_{c'}

Here :math:`c(t)` is the call that runs again at :math:`t`, if one does, and :math:`w_t` what it
needs there beyond its results, which is not needed if it is saved. The rows *draws* are for each
call that draws random numbers and the next one of its region that does: the second run draws the
same numbers only if those that are saved come last. The model is exact: a point is within the
memory if and only if the replay of its schedule (`saved_calls_schedule`) is.

Between two changes of what saved calls hold, only the row with the least right side is written, and
only rows that some point breaks.

The problem is a temporal knapsack: with one result for each call, intervals nest or are apart as
regions do. It is NP-hard already for one region (a knapsack).
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

from jettison.formulations.milp.array_model import ArrayModel, Floats
from jettison.formulations.milp.builder import ArrayModelBuilder
from jettison.formulations.milp.integer_scale import IntegerScale
from jettison.instances.remat_graph.checkpoint_regions import CheckpointRegions

Call = tuple[int, int]
# Coefficients by column, in bytes, and the right side.
_Row = tuple[dict[int, int], int]


@dataclass(frozen=True, slots=True)
class SavedCallsModel:
    """Built model of saved calls.

    Attributes
    ----------
    model
        The model.
    choices
        The call of each column.
    durations_ns
        What each of them takes when it runs again.
    time_scale
        Scale of the objective.
    """

    model: ArrayModel
    choices: tuple[Call, ...]
    durations_ns: tuple[int, ...]
    time_scale: IntegerScale

    def saved(self, values: Floats) -> frozenset[Call]:
        """Return the calls that a point of the model saves."""
        return frozenset(
            call for call, value in zip(self.choices, values, strict=True) if value > 0.5
        )


def build_saved_calls(step: CheckpointRegions, memory_bytes: int) -> SavedCallsModel:
    """Return the model of a step within a memory. :math:`O(n k)` for `n` steps and `k` choices."""
    choices = step.choices
    durations = [
        sum(step.graph.nodes[node].duration_ns for node in _nodes(step, choice))
        for choice in choices
    ]
    time_scale = IntegerScale.of(durations)
    builder = ArrayModelBuilder("saved_calls", offset=time_scale.to_model(sum(durations)))
    for (region, number), duration in zip(choices, durations, strict=True):
        cost = -time_scale.to_model(duration)
        builder.add_column(f"x_{region}_{number}", upper=1, cost=cost, integer=True)
    rows = _memory_rows(step, memory_bytes, choices)
    memory_scale = IntegerScale.of(
        abs(amount) for coefficients, _ in rows for amount in coefficients.values()
    )
    for number, (coefficients, room_bytes) in enumerate(rows):
        builder.add_row(
            f"memory_{number}",
            list(coefficients),
            [memory_scale.to_model(amount) for amount in coefficients.values()],
            upper=memory_scale.to_model(room_bytes),
        )
    _add_draws(builder, step, choices)
    return SavedCallsModel(builder.build(), choices, tuple(durations), time_scale)


def _nodes(step: CheckpointRegions, choice: Call) -> tuple[int, ...]:
    region, number = choice
    return step.regions[region].calls[number].nodes


def _memory_rows(
    step: CheckpointRegions, memory_bytes: int, choices: tuple[Call, ...]
) -> list[_Row]:
    """Return the rows *memory* that are needed, each with its coefficients and right side."""
    column_of = {
        node: column for column, choice in enumerate(choices) for node in _nodes(step, choice)
    }
    held: dict[int, int] = {}
    stored: set[int] = set()
    stored_bytes = version = 0
    best: dict[int, _Row] = {}
    rows: list[_Row] = []
    for place, (computes, node) in enumerate(step.steps):
        facts = step.graph.nodes[node]
        column = column_of.get(node)
        again = None if column is None else step.computed_at[node][1]
        if not computes:
            stored.discard(node)
            stored_bytes -= facts.output_bytes
            if column is not None and again is not None and place < again and facts.output_bytes:
                held[column] = held.get(column, 0) + facts.output_bytes
                version += 1
            continue
        needed = stored_bytes + facts.output_bytes + facts.workspace_bytes
        if column is not None and place == again:
            nodes = _nodes(step, choices[column])
            there = sum(step.graph.nodes[each].output_bytes for each in nodes if each not in stored)
            # In the row of a saved call the rest of its results is there and nothing else is made.
            own = stored_bytes + there - needed
            if held.pop(column, None) is not None:
                version += 1
            coefficients = {**held, column: own} if own else dict(held)
            rows.append((coefficients, memory_bytes - needed))
        elif version not in best or memory_bytes - needed < best[version][1]:
            best[version] = (dict(held), memory_bytes - needed)
        if node not in stored:
            stored.add(node)
            stored_bytes += facts.output_bytes
    rows += best.values()
    return [row for row in rows if sum(max(0, amount) for amount in row[0].values()) > row[1]]


def _add_draws(
    builder: ArrayModelBuilder, step: CheckpointRegions, choices: tuple[Call, ...]
) -> None:
    """Add the rows *draws*."""
    column_of = {choice: column for column, choice in enumerate(choices)}
    for place, region in enumerate(step.regions):
        drawn = [
            number
            for number, call in enumerate(region.calls)
            if call.is_random and step.runs_again(call)
        ]
        for before, after in pairwise(drawn):
            first, second = column_of.get((place, before)), column_of.get((place, after))
            if first is None:
                continue
            columns = [first] if second is None else [first, second]
            builder.add_row(
                f"draws_{place}_{before}_{after}", columns, [1.0, -1.0][: len(columns)], upper=0
            )
