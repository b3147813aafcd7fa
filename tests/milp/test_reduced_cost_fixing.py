"""Limits from reduced costs: right where they are known, and no wanted point is ever cut off."""

from __future__ import annotations

import random
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from jettison.formulations.milp.array_model import ArrayModel
from jettison.formulations.milp.builder import ArrayModelBuilder
from jettison.formulations.remat_graph.windows.frontier import WindowedFrontier
from jettison.instances.remat_graph.graph import Graph, Node
from jettison.instances.remat_graph.problem import RematGraph
from jettison.solvers.milp.highs import solve_model
from jettison.solvers.milp.highs_options import HighsOptions
from jettison.solvers.milp.reduced_cost_fixing import tightened_by_reduced_costs
from tests.each import each
from tests.remat_graph.oracles.brute_force import least_in_order_time_ns


def knapsack(upper: float = 1) -> ArrayModel:
    """Minimise 2 a + 3 b + 9 c + 1 for a + b + c >= 1, integers from 0 to `upper`."""
    model = ArrayModelBuilder("cover", offset=1)
    columns = [
        model.add_column(name, upper=upper, cost=cost, integer=True)
        for name, cost in (("a", 2), ("b", 3), ("c", 9))
    ]
    model.add_row("enough", columns, [1, 1, 1], lower=1)
    return model.build()


def test_a_binary_is_fixed_if_the_other_value_costs_too_much() -> None:
    # At the multiplier 2 the bound is 3 and the reduced costs are 0, 1 and 7. With 4 at most, b may
    # be 1 (3 + 1) and c may not (3 + 7).
    tightened = tightened_by_reduced_costs(knapsack(), np.array([2.0]), Fraction(4))
    assert tightened is not None
    assert tightened.model.column_upper.tolist() == [1, 1, 0]
    assert tightened.num_fixed == 1
    # Below 4, b may not either; at 10, which c costs, it stays.
    tightened = tightened_by_reduced_costs(knapsack(), np.array([2.0]), Fraction(39, 10))
    assert tightened is not None
    assert tightened.model.column_upper.tolist() == [1, 0, 0]
    tightened = tightened_by_reduced_costs(knapsack(), np.array([2.0]), Fraction(10))
    assert tightened is not None
    assert tightened.num_fixed == 0


def test_a_column_whose_upper_limit_is_the_better_one_is_raised() -> None:
    # At the multiplier 5 the reduced costs are -3, -2 and 4, and the bound is 1 + 5 - 3 - 2 = 1.
    # With 2.5 at most, a and b must be 1 and c 0.
    tightened = tightened_by_reduced_costs(knapsack(), np.array([5.0]), Fraction(5, 2))
    assert tightened is not None
    assert tightened.model.column_lower.tolist() == [1, 1, 0]
    assert tightened.model.column_upper.tolist() == [1, 1, 0]
    assert tightened.num_fixed == 3


def test_a_general_integer_keeps_as_many_steps_as_there_is_room_for() -> None:
    # Bound 3; with 6.5 at most there is room for 3 steps of b, of 1 each, and none of c.
    tightened = tightened_by_reduced_costs(knapsack(9), np.array([2.0]), Fraction(13, 2))
    assert tightened is not None
    assert tightened.model.column_upper.tolist() == [9, 3, 0]
    assert tightened.num_fixed == 1


def test_where_no_point_costs_so_little_there_is_no_model() -> None:
    assert tightened_by_reduced_costs(knapsack(), np.array([2.0]), Fraction(29, 10)) is None


def test_multipliers_that_bound_nothing_fix_nothing() -> None:
    model = ArrayModelBuilder("downhill")
    model.add_column("x", cost=-1)
    model.add_column("y", upper=1, cost=1, integer=True)
    tightened = tightened_by_reduced_costs(model.build(), np.zeros(0), Fraction(0))
    assert tightened is not None
    assert tightened.num_fixed == 0


def random_model(generator: random.Random) -> ArrayModel:
    """Return a model of six binaries and one column between 0 and 2, with costs of any sign."""
    model = ArrayModelBuilder("random")
    columns = [
        model.add_column(f"x{j}", upper=1, cost=generator.randint(-5, 9), integer=True)
        for j in range(6)
    ]
    columns.append(model.add_column("y", upper=2, cost=generator.randint(-2, 4), integer=True))
    for i in range(4):
        values = [generator.randint(-4, 6) for _ in columns]
        model.add_row(f"r{i}", columns, values, lower=generator.randint(-3, 4))
    return model.build()


def points(model: ArrayModel) -> list[tuple[int, tuple[int, ...]]]:
    """Return the cost of each integer point that satisfies the rows, by enumeration."""
    matrix = np.zeros((model.num_rows, model.num_columns), dtype=int)
    for row in range(model.num_rows):
        entries = slice(model.indptr[row], model.indptr[row + 1])
        matrix[row, model.indices[entries]] = model.data[entries].astype(int)
    grid = np.array(list(product(*([(0, 1)] * 6), (0, 1, 2))))
    feasible = grid[(grid @ matrix.T >= model.row_lower).all(axis=1)]
    costs = (feasible @ model.objective.astype(int)).tolist()
    return list(zip(costs, map(tuple, feasible.tolist()), strict=True))


def test_no_point_of_the_wanted_cost_is_ever_cut_off() -> None:
    generator = random.Random(1954)
    fixed = 0
    for _ in range(300):
        model = random_model(generator)
        duals = solve_model(model.relaxed()).row_duals
        every = points(model)
        if duals is None or not every:
            continue
        at_most = min(cost for cost, _ in every) + generator.randint(0, 2)
        # The solver's multipliers, and some that are wrong.
        for multipliers in (duals, duals * generator.uniform(0, 2), duals + generator.random()):
            tightened = tightened_by_reduced_costs(model, multipliers, Fraction(at_most))
            assert tightened is not None
            lower, upper = tightened.model.column_lower, tightened.model.column_upper
            for cost, point in every:
                if cost <= at_most:
                    assert (lower <= point).all()
                    assert (point <= upper).all()
            fixed += tightened.num_fixed
    assert fixed > 300


@each(seed=range(4))
def test_a_tightened_model_of_a_graph_keeps_the_optimum_of_the_brute_force(seed: int) -> None:
    generator = random.Random(seed)
    fixed = 0
    for _ in range(60):
        count = generator.randint(3, 6)
        nodes = [
            Node(
                name=f"{i}",
                duration_ns=generator.randint(0, 9),
                output_bytes=generator.randint(1, 9),
                inputs=tuple({f"{i - 1}", f"{generator.randrange(i)}"}) if i else (),
            )
            for i in range(count)
        ]
        graph = Graph("drawn", tuple(nodes))
        least = graph.least_peak_bound_bytes
        memory_bytes = generator.randint(least, max(least, graph.store_all_peak_bytes - 1))
        best_ns = least_in_order_time_ns(graph, memory_bytes)
        if best_ns is None:
            continue
        every_cut = WindowedFrontier(tuple(range(count))).build(RematGraph(graph, memory_bytes))
        plain = solve_model(every_cut.model, HighsOptions(gap=0)).objective
        duals = solve_model(every_cut.model.relaxed()).row_duals
        assert plain is not None
        assert duals is not None
        scale = every_cut.time_scale
        # The time of the best schedule is at least the optimum of its relaxation.
        at_most = Fraction(best_ns - graph.base_time_ns, scale.unit * scale.factor)
        tightened = tightened_by_reduced_costs(every_cut.model, duals, at_most)
        assert tightened is not None
        found = solve_model(tightened.model, HighsOptions(gap=0)).objective
        assert found == pytest.approx(plain)
        fixed += tightened.num_fixed
    assert fixed > 30
