from __future__ import annotations

from dataclasses import replace

import pytest

from jettison import InputError, ScheduleClass, ShardedGraph
from jettison.remat_graph import GraphOperation, GraphOperationKind
from jettison.remat_sharding import Role, ShardedSchedule
from jettison.schedules.remat_sharding.reduced_recomputation import (
    ReducedRecomputation,
    has_reduced_problem,
    is_reduced,
)
from tests.remat_sharding.oracles.brute_force import lifetimes_of, recomputable_sets, shape_of
from tests.remat_sharding.samples import training_steps
from tests.remat_sharding.tiny_sharded import LAYERS, WAITING, operator


def _operations(text: str, sharded: ShardedGraph) -> tuple[GraphOperation, ...]:
    """Read operations such as ``a b -a``; a minus frees."""
    return tuple(
        GraphOperation(
            GraphOperationKind.FREE if word.startswith("-") else GraphOperationKind.COMPUTE,
            sharded.position_of[word.removeprefix("-")],
        )
        for word in text.split()
    )


def test_what_is_computed_again_goes_after_its_last_forward_user() -> None:
    found = ReducedRecomputation(WAITING)
    assert found.recomputable == (0, 2)
    assert found.operations([]) == _operations("a b c -b d -a -c -d", WAITING)
    assert found.operations([0]) == _operations("a b -a c -b a d -a -c -d", WAITING)
    # b waits for the second computation of c.
    assert found.operations([0, 2]) == _operations("a b -a c -c a c d -a -b -c -d", WAITING)


def test_what_stays_is_freed_for_a_recomputation_only() -> None:
    # x waits for the second computation of dot; w, a parameter, and grad, which is kept, stay.
    found = ReducedRecomputation(LAYERS)
    assert found.recomputable == (2, 3, 4)
    assert found.operations([3]) == _operations(
        "x w dot act top -act act loss -act -top grad -x -dot -loss", LAYERS
    )


def test_an_input_of_a_recomputation_stays_beyond_its_last_use() -> None:
    sharded = ShardedGraph(
        "beyond",
        (
            operator("x", Role.INPUT, ((0, 1),)),
            operator("a", Role.FORWARD, ((1, 1),), ("x",)),
            operator("b", Role.FORWARD, ((1, 1),), ("a",)),
            operator("g", Role.BACKWARD, ((1, 1),), ("b", "a")),
        ),
    )
    found = ReducedRecomputation(sharded)
    assert found.operations([]) == _operations("x a -x b g -a -b -g", sharded)
    assert found.operations([1]) == _operations("x a b -a a g -x -a -b -g", sharded)


def test_memory_is_that_of_lifetimes_worked_out_otherwise() -> None:
    for problem in training_steps(seed=5, count=60):
        sharded = problem.instance
        shape = shape_of(sharded)
        for again in recomputable_sets(shape):
            resident = set[int]()
            steps = []
            for operation in ReducedRecomputation(sharded).operations(again):
                if operation.kind is GraphOperationKind.FREE:
                    resident.remove(operation.node)
                else:
                    assert operation.node not in resident
                    resident.add(operation.node)
                    if operation.node == len(steps):
                        steps.append(set(resident))
            assert steps == lifetimes_of(shape, again)
            assert resident == {i for i, kept in enumerate(shape.kept) if kept}


@pytest.mark.parametrize(
    ("text", "is_one"),
    [
        ("a b c -b d -a -c -d", True),
        # What goes at one moment may go in any order.
        ("a b c -b d -d -c -a", True),
        ("a b -a c -b a d -a -c -d", True),
        # c is freed only at the end, b late, a not at all.
        ("a b c d -a -b -c -d", False),
        ("a b c -b d -c -d", False),
        # b, which nothing backward reads, is computed again.
        ("a b c -b b d -a -b -c -d", False),
        # a comes back before c.
        ("a b -a a c -b d -a -c -d", False),
        # c goes while b, its input, is there no more.
        ("b a c -b d -a -c -d", False),
    ],
)
def test_plans_of_the_reduced_problem_are_told_from_others(text: str, is_one: bool) -> None:
    assert is_reduced(WAITING, _operations(text, WAITING)) is is_one


def test_the_replay_names_the_class() -> None:
    schedule = ShardedSchedule((0, 0, 0, 0), _operations("a b -a c -b a d -a -c -d", WAITING))
    assert schedule.replay(WAITING, 9).schedule_class is ScheduleClass.KIWI_REDUCED
    later = replace(schedule, operations=_operations("a b c -a -b a d -a -c -d", WAITING))
    # The reduced problem has its own times to free values; kiwi-elementwise has none.
    assert later.replay(WAITING, 10).schedule_class is ScheduleClass.KIWI_ELEMENTWISE


def test_two_neighbours_are_not_both_computed_again() -> None:
    operations = _operations("x w dot act -dot top -act -top", LAYERS)
    operations += _operations("dot act top loss -act -top grad -x -dot -loss", LAYERS)
    schedule = ShardedSchedule((0,) * 7, operations)
    replay = schedule.replay(LAYERS)
    assert replay.valid
    assert replay.schedule_class is ScheduleClass.STAGED


def test_a_graph_whose_backward_operators_are_not_last_has_no_reduced_problem() -> None:
    late = operator("e", Role.FORWARD, ((1, 1),))
    sharded = replace(WAITING, operators=(*WAITING.operators, late), fastest=())
    assert has_reduced_problem(WAITING)
    assert not has_reduced_problem(sharded)
    assert not is_reduced(sharded, _operations("a b c -b d -a -c -d e -e", sharded))
    with pytest.raises(InputError, match="'e' comes after a backward operator"):
        ReducedRecomputation(sharded)
