r"""The fastest plan of a sharded graph where memory is no limit: what shares of memory refer to.

Every operator is computed once, so that only the strategies are left to choose. With followers
merged into groups (`merged_choices`), binary :math:`s_{gk}` and continuous :math:`e_{ghab}`:

.. math::
    \min & \sum_g \sum_k c_{gk} s_{gk} + \sum_{g < h} \sum_{a, b} R_{ghab} e_{ghab} \\
    \text{choice} \quad & \sum_k s_{gk} = 1 \\
    \text{rows} \quad & \sum_b e_{ghab} = s_{ga} \\
    \text{columns} \quad & \sum_a e_{ghab} = s_{hb}

Alpa's model (OSDI 2022) with equalities. Forbidden strategies and pairs have no column.
"""

from __future__ import annotations

from itertools import product

from jettison.formulations.array_model import ArrayModel
from jettison.formulations.array_model_builder import ArrayModelBuilder
from jettison.instances.errors import InputError
from jettison.instances.merged_choices import MergedChoices, merged_choices
from jettison.instances.sharded_graph import ShardedGraph
from jettison.solvers.highs import HighsOptions, solve_model
from jettison.solvers.status import Answer, SolverError

_NS_PER_US = 1000


def fastest_strategies(graph: ShardedGraph, options: HighsOptions | None = None) -> tuple[int, ...]:
    """Return for each operator the strategy of a fastest plan without a limit on memory.

    Parameters
    ----------
    graph
        The instance.
    options
        How to run HiGHS; by default to the end, on one thread.

    Raises
    ------
    InputError
        If no plan is allowed.
    SolverError
        If the run stops before the optimum is proved, up to the solver's relative 1e-9.
    """
    choices = merged_choices(graph)
    model, columns = _model(choices)
    solution = solve_model(model, options or HighsOptions(gap=0.0))
    if solution.answer is Answer.INFEASIBLE:
        raise InputError(
            "no choice of strategies is allowed for all operators at once",
            field="resharding",
            expected="allow more pairs; null forbids",
        )
    if solution.values is None or solution.answer is not Answer.OPTIMAL:
        raise SolverError(
            f"the fastest plan of {graph.name} was not proved: {solution.termination}; try again "
            "with more time"
        )
    places = [
        max(own, key=lambda place: float(solution.values[own[place]]))  # type: ignore[index]
        for own in columns
    ]
    return choices.strategies(places)


def _model(choices: MergedChoices) -> tuple[ArrayModel, list[dict[int, int]]]:
    """Return the model, and for each group the column of each place that is allowed."""
    model = ArrayModelBuilder("sharding")
    columns: list[dict[int, int]] = []
    for g, costs in enumerate(choices.cost_ns):
        own = {
            k: model.add_column(f"s_{g}_{k}", upper=1, cost=cost / _NS_PER_US, integer=True)
            for k, cost in enumerate(costs)
            if cost is not None
        }
        model.add_row(f"choice_{g}", list(own.values()), [1.0] * len(own), lower=1, upper=1)
        columns.append(own)
    for (g, h), table in choices.tables.items():
        rows: dict[int, list[int]] = {a: [] for a in columns[g]}
        across: dict[int, list[int]] = {b: [] for b in columns[h]}
        for a, b in product(columns[g], columns[h]):
            cost = table[a][b]
            if cost is not None:
                column = model.add_column(f"e_{g}_{h}_{a}_{b}", upper=1, cost=cost / _NS_PER_US)
                rows[a].append(column)
                across[b].append(column)
        for name, group, marginals in (("rows", g, rows), ("columns", h, across)):
            for place, own_pairs in marginals.items():
                model.add_row(
                    f"{name}_{g}_{h}_{place}",
                    [columns[group][place], *own_pairs],
                    [-1.0, *[1.0] * len(own_pairs)],
                    lower=0,
                    upper=0,
                )
    return model.build(), columns
