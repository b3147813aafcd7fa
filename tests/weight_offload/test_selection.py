"""Algorithm 1: the choices, against the algorithm as it is written, and the corrections."""

from __future__ import annotations

import numpy as np
import pytest

from jettison.instances.weight_offload.problem import WeightOffload
from jettison.solvers._kernels import select_weights
from jettison.solvers.weight_offload.greedy.selection import Absence, Choice, select_choices
from tests.weight_offload.cases import chain_of, random_problems
from tests.weight_offload.oracles.selection import naive_selection


def positive(excess_bytes: tuple[int, ...]) -> list[int]:
    return [max(excess, 0) for excess in excess_bytes]


def select(excess_bytes: list[int], weight_bytes: list[int]) -> list[tuple[int, int]] | None:
    chosen = select_weights(np.array(excess_bytes, np.int64), np.array(weight_bytes, np.int64))
    return None if chosen is None else [(layer + 1, d) for layer, d in chosen]


def test_the_choices_are_those_of_the_algorithm_as_it_is_written() -> None:
    made = 0
    for problem in random_problems(100):
        cycle = problem.cycle
        excess_bytes = cycle.excess_bytes(problem.memory_bytes)
        chosen = select_choices(problem)
        assert chosen == tuple(naive_selection(positive(excess_bytes), cycle.weight_bytes) or ())
        made += len(chosen)
    assert made > 200


def test_in_the_least_memory_all_choices_are_enough_and_in_less_they_are_not() -> None:
    for problem in random_problems(50, seed=2):
        least_bytes = problem.cycle.least_memory_bytes
        assert select_choices(problem, least_bytes) is not None
        if problem.cycle.total_weight_bytes > 0:
            assert select_choices(problem, least_bytes - 1) is None


def test_the_weights_of_the_running_layer_count_once() -> None:
    # Both layers' weights and one gradient are 3 x 10 bytes: nothing has to go. With M_o of the
    # paper, which has the running layer's own weights again, 10 bytes would have to.
    problem = WeightOffload(chain_of((1, 1, 10), (1, 1, 10)), 30, "1GB/s")
    assert select_choices(problem) == ()
    counted_twice = [excess + 10 for excess in problem.cycle.excess_bytes(30)]
    assert naive_selection(positive(tuple(counted_twice)), (10, 10)) != []


def test_operations_with_room_to_spare_do_not_make_a_choice_look_worse() -> None:
    # B_3, B_2, B_1, F_1, F_2, F_3 exceed by these, all weights are of 4 bytes. (2, 0) covers B_1
    # and F_1, (3, 0) B_2 and F_2 as well: 2 bytes each, a tie, which the larger k wins. With the
    # room that B_2 and F_2 have to spare as negative excess, (3, 0) would come after (2, 0).
    excess_bytes = [0, -5, 1, 1, -5, 0]
    assert select(positive(tuple(excess_bytes)), [4, 4, 4]) == [(3, 0)]
    assert naive_selection(excess_bytes, [4, 4, 4]) == [(2, 0)]


def test_of_equal_profits_the_larger_layer_is_chosen() -> None:
    # Equal weights, equal excesses: (1, 1) covers the operations of layer 2, (2, 0) those of 1.
    assert select([1, 1, 1, 1], [10, 10]) == [(2, 0), (1, 1)]


def test_profits_that_no_float_tells_apart_are_told_apart() -> None:
    # Profits 1000/2^55 and 1000/(2^55 + 1): in floats they tie, and the larger layer would win.
    assert select([1000] * 4, [2**55, 2**55 + 1]) == [(1, 1), (2, 0)]


def test_a_second_choice_of_a_layer_costs_half() -> None:
    # B_4, ..., B_1, F_1, ..., F_4; layers 2 and 3 have weights of 8 bytes. Only (2, 1) covers B_3.
    # For B_1 there are (2, 0) with profit 4/8 now and (3, 0) with 4/16, which would win a tie.
    assert select([0, 8, 0, 4, 0, 0, 0, 0], [0, 8, 8, 0]) == [(2, 1), (2, 0)]


def test_sizes_near_the_largest_do_not_overflow() -> None:
    sizes = [2**58, 2**58 - 1, 2**59 - 5]
    excess_bytes = [2**59, 2**58 + 1, 2**58, 2**57, 2**58 + 3, 2**59 - 7]
    assert select(excess_bytes, sizes) == naive_selection(excess_bytes, sizes)


def test_a_choice_names_its_layer_and_the_papers_d() -> None:
    problem = WeightOffload(chain_of((1, 1, 10), (1, 1, 10)), 29, "1GB/s")
    chosen = select_choices(problem)
    assert chosen == (Choice(2, Absence.AFTER_BACKWARD), Choice(1, Absence.AFTER_FORWARD))
    assert [tuple(choice) for choice in chosen] == [(2, 0), (1, 1)]


def test_the_time_limit_ends_a_selection() -> None:
    problem = WeightOffload(chain_of(*[(1, 1, 10)] * 50), "40%", "1GB/s")
    with pytest.raises(TimeoutError):
        select_choices(problem, time_limit_s=1e-9)
