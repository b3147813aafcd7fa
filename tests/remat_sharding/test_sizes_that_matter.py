"""Strategies that never fit do not round away the sizes of those that do."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from jettison import RematSharding, ShardedGraph
from jettison.formulations.milp.array_model import ArrayModel
from jettison.remat_sharding import Resharding, Role
from jettison.solvers.core.model_files import ModelChoice
from jettison.solvers.core.outcome import SolveOptions
from jettison.solvers.core.solve import solve_with
from jettison.solvers.remat_sharding.model_files import build_model
from jettison.solvers.remat_sharding.sizes_that_matter import with_sizes_that_matter
from tests.remat_sharding.oracles.brute_force import best_reduced_plan, best_staged_plan
from tests.remat_sharding.samples import training_steps
from tests.remat_sharding.tiny_sharded import operator

OPTIONS = SolveOptions(time_limit_s=20, gap=0)

# Of o1 the second strategy never fits. Models that count in 2^12 bytes because of it do not see
# that o1 of 2, o2 of 1 and o3 of 1 are more than 3. With o3 of none, which takes 4 ns more than the
# other, 8 + 3 + 11 + 2 + 6 = 30.
COARSE = RematSharding(
    ShardedGraph(
        "coarse",
        (
            operator("o0", Role.INPUT, ((8, 1), (2, 1))),
            operator("o1", Role.FORWARD, ((3, 2), (3, 2**40)), ("o0",), follows="o0"),
            operator("o2", Role.BACKWARD, ((11, 1), (11, 1)), ("o1",)),
            operator("o3", Role.BACKWARD, ((6, 0), (2, 1)), ("o1", "o2")),
        ),
        (
            Resharding("o1", "o2", ((None, 0), (3, None))),
            Resharding("o1", "o3", ((2, 6), (0, 0))),
        ),
    ),
    3,
)


@pytest.mark.parametrize("method", ["exact", "kiwi-full", "kiwi-reduced"])
def test_the_fastest_plan_beside_a_strategy_that_never_fits_is_found(method: str) -> None:
    best = best_reduced_plan if method == "kiwi-reduced" else best_staged_plan
    plan = best(COARSE.instance, COARSE.memory_bytes)
    assert plan is not None
    assert plan.time_ns == 30
    result = solve_with(COARSE, method, OPTIONS)
    assert result.status.startswith("optimal")
    assert result.time_ns == 30


@pytest.mark.parametrize("formulation", ["kiwi-full", "kiwi-reduced", "kiwi-elementwise"])
def test_a_file_of_its_model_sees_the_small_sizes_too(formulation: str) -> None:
    model = build_model(COARSE, ModelChoice(formulation=formulation))
    assert isinstance(model, ArrayModel)
    written = np.abs(model.data[model.data != 0])
    assert written.max() / written.min() < 1000


def test_what_never_fits_becomes_the_least_multiple_above_twice_the_memory() -> None:
    # Sizes of 2, 4 and 40, in 6: what is above 2 * 6 becomes 14.
    graph = ShardedGraph(
        "even",
        (operator("a", Role.FORWARD, ((1, 2), (1, 40))), operator("b", Role.FORWARD, ((1, 4),))),
    )
    smaller = with_sizes_that_matter(RematSharding(graph, 6)).instance
    assert [item.memory_bytes for item in smaller.operators[0].strategies] == [2, 14]
    assert smaller.operators[1] == graph.operators[1]
    plenty = RematSharding(graph, 20)
    assert with_sizes_that_matter(plenty) is plenty


def test_plans_and_the_least_memory_that_is_proved_stay_the_same() -> None:
    refused = 0
    for problem in training_steps(seed=51, count=25, most_operators=5):
        # Twice as many strategies: of each a copy that takes a thousand bytes more.
        operators = tuple(
            replace(
                item,
                strategies=item.strategies
                + tuple(
                    replace(kind, name=f"{kind.name} wide", memory_bytes=kind.memory_bytes + 1000)
                    for kind in item.strategies
                ),
            )
            for item in problem.instance.operators
        )
        tables = tuple(
            replace(item, cost_ns=tuple(row * 2 for row in item.cost_ns) * 2)
            for item in problem.instance.resharding
        )
        wide = replace(problem.instance, operators=operators, resharding=tables)
        for method in ("exact", "kiwi-reduced"):
            narrow = solve_with(problem, method, OPTIONS)
            found = solve_with(RematSharding(wide, problem.memory_bytes), method, OPTIONS)
            assert (found.status, found.time_ns) == (narrow.status, narrow.time_ns)
            if narrow.infeasibility is not None:
                assert found.infeasibility == narrow.infeasibility
                refused += 1
    assert refused >= 4
