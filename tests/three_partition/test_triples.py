from __future__ import annotations

import random

from jettison.formulations.three_partition.triples import three_partition_triples
from jettison.instances.three_partition.certificate import check_partition
from jettison.instances.three_partition.instance import ThreePartition
from jettison.solvers.core.status import Answer
from jettison.solvers.milp.highs import solve_model
from tests.three_partition.oracles.brute_force import has_three_partition
from tests.three_partition.test_certificate import random_items


def test_the_model_has_a_point_exactly_where_there_is_a_partition() -> None:
    generator = random.Random(9)
    answers = []
    for _ in range(80):
        count, target = generator.randint(1, 6), generator.choice([20, 30, 47, 90])
        instance = ThreePartition("drawn", tuple(random_items(generator, count, target)), target)
        built = three_partition_triples(instance)
        solution = solve_model(built.model)
        answers.append(has_three_partition(instance.values, target))
        assert (solution.answer is Answer.OPTIMAL) == answers[-1]
        if solution.values is not None:
            check_partition(built.partition(solution.values), instance.values, target)
    assert 10 < sum(answers) < 70


def test_equal_items_are_one_row_and_a_triple_counts_them() -> None:
    built = three_partition_triples(ThreePartition("equal", (30, 30, 30, 29, 31, 30), 90))
    # 30 + 30 + 30 and 29 + 30 + 31; four items of 30 hold one triple of them.
    assert built.triples == ((29, 30, 31), (30, 30, 30))
    assert built.model.row_names == ("value_29", "value_30", "value_31")
    assert built.model.row_lower.tolist() == [1, 4, 1]
    assert built.model.column_upper.tolist() == [1, 1]
    assert sorted(built.model.data.tolist()) == [1, 1, 1, 3]
    assert built.partition([1, 1]) == ((0, 1, 2), (3, 4, 5))


def test_items_in_no_triple_are_empty_rows_that_ask_for_one() -> None:
    # 49 + 26 + 25, 49 + 30 + 21 and so on: no two items go with 49, nor any other three.
    built = three_partition_triples(ThreePartition("alone", (49, 26, 30, 30, 32, 33), 100))
    assert built.triples == ()
    assert built.model.row_lower.tolist() == [1, 2, 1, 1, 1]
    assert solve_model(built.model).answer is Answer.INFEASIBLE
