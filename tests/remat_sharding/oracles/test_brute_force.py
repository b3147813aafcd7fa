"""Hand-derived answers for the brute force of sharded graphs."""

from __future__ import annotations

from dataclasses import replace

from jettison import ShardedGraph
from jettison.remat_sharding import Operator, Resharding, Role, ShardedSchedule, Strategy
from tests.remat_sharding.oracles.brute_force import Plan, best_reduced_plan, best_staged_plan
from tests.remat_sharding.samples import training_steps


def _operator(
    name: str,
    role: Role,
    costs: dict[int, int],
    inputs: tuple[str, ...] = (),
    *,
    keep: bool = False,
) -> Operator:
    strategies = tuple(
        Strategy(name=f"{time_ns} ns", compute_ns=time_ns, memory_bytes=size)
        for time_ns, size in costs.items()
    )
    return Operator(name=name, role=role, strategies=strategies, inputs=inputs, keep=keep)


# a has two strategies: 1 ns and 4 bytes, or 3 ns and 2 bytes. While c runs, which needs 5 bytes
# beside b (1 byte), a waits for d.
STEP = ShardedGraph(
    "by hand",
    (
        _operator("a", Role.FORWARD, {1: 4, 3: 2}),
        _operator("b", Role.FORWARD, {1: 1}, ("a",)),
        _operator("c", Role.FORWARD, {1: 5}, ("b",)),
        _operator("d", Role.BACKWARD, {1: 0}, ("a", "c")),
    ),
)


def test_every_operator_runs_once_where_all_values_fit() -> None:
    # 4 + 1 + 5 bytes while c runs.
    assert best_staged_plan(STEP, 10) == Plan(4, (0, 0, 0, 0), (0, 1, 2, 3))
    assert best_reduced_plan(STEP, 10) == Plan(4, (0, 0, 0, 0), (0, 1, 2, 3))


def test_computing_again_competes_with_another_strategy() -> None:
    # a goes after b and comes back before d: 4 + 5 bytes, 1 ns more. With the other strategy and
    # without recomputation: 2 + 1 + 5 bytes, 2 ns more.
    assert best_staged_plan(STEP, 9) == Plan(5, (0, 0, 0, 0), (0, 1, 2, 0, 3))
    assert best_reduced_plan(STEP, 9) == Plan(5, (0, 0, 0, 0), (0, 1, 2, 0, 3))
    assert best_reduced_plan(STEP, 8) == Plan(6, (1, 0, 0, 0), (0, 1, 2, 3))
    # Both at once: 2 + 5 bytes.
    assert best_reduced_plan(STEP, 7) == Plan(9, (1, 0, 0, 0), (0, 1, 2, 0, 3))
    assert best_reduced_plan(STEP, 6) is best_staged_plan(STEP, 6) is None


def test_a_recomputation_reshards_its_inputs_again() -> None:
    x = _operator("x", Role.INPUT, {0: 0})
    first = replace(STEP.operators[0], inputs=("x",))
    table = Resharding("x", "a", ((7, 2),))
    sharded = ShardedGraph("resharded", (x, first, *STEP.operators[1:]), (table,))
    # 7 ns to reshard for the first strategy of a, twice: 4 + 7 + 1 + 7; once for the second one, 2.
    assert best_staged_plan(sharded, 10) == Plan(8, (0, 1, 0, 0, 0), (0, 1, 2, 3, 4))
    only_first = replace(sharded, resharding=(replace(table, cost_ns=((7, None),)),))
    assert best_staged_plan(only_first, 9) == Plan(19, (0, 0, 0, 0, 0), (0, 1, 2, 3, 1, 4))
    assert best_reduced_plan(only_first, 9) == Plan(19, (0, 0, 0, 0, 0), (0, 1, 2, 3, 1, 4))
    assert best_staged_plan(only_first, 8) is None


def test_an_input_is_freed_but_never_computed_again() -> None:
    sharded = replace(
        STEP, operators=(replace(STEP.operators[0], role=Role.INPUT), *STEP.operators[1:])
    )
    assert best_staged_plan(sharded, 9) == Plan(6, (1, 0, 0, 0), (0, 1, 2, 3))
    assert best_staged_plan(sharded, 7) is best_reduced_plan(sharded, 7) is None
    # Nothing of the first strategy is left after b if d does not read it.
    alone = replace(
        sharded, operators=(*sharded.operators[:3], replace(STEP.operators[3], inputs=("c",)))
    )
    assert best_staged_plan(alone, 6) == Plan(4, (0, 0, 0, 0), (0, 1, 2, 3))


def test_a_parameter_is_never_freed() -> None:
    sharded = replace(
        STEP,
        operators=(
            replace(STEP.operators[0], role=Role.PARAMETER),
            *STEP.operators[1:3],
            replace(STEP.operators[3], inputs=("c",)),
        ),
    )
    assert best_staged_plan(sharded, 9) == Plan(6, (1, 0, 0, 0), (0, 1, 2, 3))
    assert best_reduced_plan(sharded, 7) is None


def test_plans_of_random_steps_are_accepted_by_the_replay() -> None:
    again = 0
    for problem in training_steps(seed=1, count=60):
        for plan in (
            best_staged_plan(problem.instance, problem.memory_bytes),
            best_reduced_plan(problem.instance, problem.memory_bytes),
        ):
            if plan is None:
                continue
            schedule = ShardedSchedule.from_computations(
                problem.instance, plan.strategies, plan.computations
            )
            replay = schedule.replay(problem.instance, problem.memory_bytes)
            assert replay.valid
            assert replay.time_ns == plan.time_ns
            again += len(plan.computations) > len(problem.instance)
    assert again >= 5
