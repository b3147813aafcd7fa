from __future__ import annotations

from dataclasses import replace

import pytest

from jettison import InputError, RematSharding, ShardedGraph, solve
from jettison.formulations.milp.array_model import ArrayModel
from jettison.instances.remat_sharding.chosen_strategies import with_strategies
from jettison.remat_sharding import Resharding, Role
from jettison.solvers.core.status import Answer, Termination
from jettison.solvers.milp.highs_in_time import solve_in_time
from jettison.solvers.milp.highs_options import HighsOptions
from jettison.solvers.milp.solution import ModelSolution
from jettison.solvers.remat_sharding import fastest_plan as fastest_sharding
from jettison.solvers.remat_sharding.fastest_plan import with_fastest
from tests.remat_sharding.oracles.brute_force import priced_choices
from tests.remat_sharding.samples import any_order, training_steps
from tests.remat_sharding.steps import encoder, small_perceptron, wide_perceptron
from tests.remat_sharding.tiny_sharded import operator


@pytest.mark.parametrize("samples", [training_steps, any_order])
def test_no_choice_of_strategies_is_faster_or_as_fast_with_a_smaller_peak(samples: object) -> None:
    assert callable(samples)
    impossible = tied = 0
    for problem in samples(seed=21, count=60):
        choices = priced_choices(problem.instance)
        if not choices:
            impossible += 1
            with pytest.raises(InputError, match="no choice of strategies"):
                with_fastest(problem.instance)
            continue
        graph = with_fastest(problem.instance)
        found = with_strategies(graph, graph.fastest)
        least_ns = sum(choices[0].times_ns)
        assert found.base_time_ns == least_ns
        peaks = {
            with_strategies(graph, choice.strategies).store_all_peak_bytes
            for choice in choices
            if sum(choice.times_ns) == least_ns
        }
        assert found.store_all_peak_bytes == min(peaks)
        tied += len(peaks) > 1
    assert impossible >= 1
    assert tied >= 2


def test_strategies_that_do_not_go_together_are_not_chosen() -> None:
    sharded = ShardedGraph(
        "apart",
        (
            operator("a", Role.FORWARD, ((1, 1), (3, 1))),
            operator("b", Role.FORWARD, ((3, 1), (1, 1)), ("a",)),
        ),
        (Resharding("a", "b", ((0, None), (5, 0))),),
    )
    # 1 and 1 are forbidden together: 1 + 3 or 3 + 1; 5 more between the slow ones.
    graph = with_fastest(sharded)
    assert with_strategies(graph, graph.fastest).base_time_ns == 4


def twins() -> ShardedGraph:
    """Return two operators that are as fast in 5 bytes as in 3, and together need another."""
    strategies = ((1, 5), (1, 3), (2, 1))
    return ShardedGraph(
        "twins",
        (
            operator("a", Role.FORWARD, strategies),
            operator("b", Role.FORWARD, strategies, ("a",)),
        ),
        (Resharding("a", "b", ((0, 0, 0), (0, 1, 0), (0, 0, 0))),),
    )


def test_of_equally_fast_choices_the_one_with_the_least_peak_is_named() -> None:
    # 3 and 3 bytes take 1 ns more than 3 and 5, and 5 and 5; slower ones would need less.
    graph = with_fastest(twins())
    fastest = with_strategies(graph, graph.fastest)
    assert (fastest.base_time_ns, fastest.store_all_peak_bytes) == (2, 8)


def test_where_the_least_peak_is_not_found_any_fastest_choice_is_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def ended(model: ArrayModel, options: HighsOptions) -> ModelSolution:
        if model.name != "sharding_least_peak":
            return solve_in_time(model, options)
        return ModelSolution(
            termination=Termination.INTERRUPTED, answer=Answer.UNKNOWN, seconds=0.0
        )

    monkeypatch.setattr(fastest_sharding, "solve_in_time", ended)
    graph = with_fastest(twins())
    assert with_strategies(graph, graph.fastest).base_time_ns == 2


@pytest.mark.parametrize(
    "sharded",
    [small_perceptron(), wide_perceptron(), encoder()],
    ids=lambda sharded: sharded.name,
)
def test_the_fastest_plan_of_a_generated_step_is_no_faster_than_its_base_time(
    sharded: ShardedGraph,
) -> None:
    graph = with_fastest(sharded)
    fastest = with_strategies(graph, graph.fastest)
    assert fastest.base_time_ns >= sharded.base_time_ns
    assert RematSharding(graph, "100%").memory_bytes == fastest.store_all_peak_bytes


def test_in_little_memory_another_sharding_is_best() -> None:
    graph = with_fastest(small_perceptron())
    problem = RematSharding(graph, "60%")
    best = solve(problem, "kiwi-reduced")
    assert best.status == "optimal-kiwi-reduced"
    assert best.schedule is not None
    # The same strategies as in plenty of memory, and recomputation alone.
    only = replace(
        graph,
        operators=tuple(
            replace(item, strategies=(item.strategies[k],))
            for item, k in zip(graph.operators, graph.fastest, strict=True)
        ),
        resharding=tuple(
            replace(
                table,
                cost_ns=(
                    (
                        table.cost_ns[graph.fastest[graph.position_of[table.source]]][
                            graph.fastest[graph.position_of[table.target]]
                        ],
                    ),
                ),
            )
            for table in graph.resharding
        ),
        fastest=(0,) * len(graph),
    )
    alone = solve(RematSharding(only, problem.memory_bytes), "kiwi-reduced")
    assert best.time_ns is not None
    assert alone.time_ns is None or alone.time_ns > best.time_ns
