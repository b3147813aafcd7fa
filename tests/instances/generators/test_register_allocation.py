"""RP-DEC: each node once, in some order; every small program against a search over sets."""

from __future__ import annotations

import random

import pytest

from jettison import InputError, RematGraph, ScheduleClass
from jettison.instances.generators.register_allocation import register_allocation
from jettison.solvers.core.outcome import SolveOptions
from jettison.solvers.core.solve import solve_with
from tests.remat_graph.oracles.brute_force import least_time_ns
from tests.remat_graph.oracles.registers import least_registers, programs

TO_THE_END = SolveOptions(time_limit_s=None, gap=0)
# p, q, and what reads each of them: in this order two values wait while a third is computed, in the
# order p, its reader, q, its reader never more than one.
CROSSED = [(), (), (0,), (1,)]


def answer(problem: RematGraph, method: str = "checkmate-unpartitioned") -> bool | None:
    """Answer of a method to the question of RP-DEC; None where it proves neither."""
    result = solve_with(problem, method, TO_THE_END)
    nodes = len(problem.instance)
    if result.time_ns == nodes:
        return True
    bound, refused = result.bound_of_all, result.infeasibility
    if bound is not None and bound.time_ns > nodes:
        return False
    if refused is not None and refused.valid_for is ScheduleClass.ALL:
        return False
    return None


def test_registers_are_worked_out_by_hand() -> None:
    # The result stands beside its inputs: two values, where Sethi's register could be the same.
    assert least_registers([(), (0,)]) == 2
    assert register_allocation([(), (0,)], 2).instance.store_all_peak_bytes == 2
    assert least_registers(CROSSED) == 2
    assert register_allocation(CROSSED, 2).instance.store_all_peak_bytes == 3
    # A sum of two products of two numbers each: the first product waits, and three more are there.
    assert least_registers([(), (), (0, 1), (), (), (3, 4), (2, 5)]) == 4


def test_every_program_of_up_to_four_nodes_is_the_question_of_the_paper() -> None:
    # Cost |V| within the memory, of all schedules, with recomputation allowed and none possible.
    for nodes in (1, 2, 3, 4):
        for reads in programs(nodes):
            least = least_registers(reads)
            for registers in range(nodes + 2):
                graph = register_allocation(reads, registers).instance
                is_possible = least_time_ns(graph, registers) == nodes
                assert is_possible == (registers >= least), (reads, registers)


def test_there_are_as_many_programs_as_unlabelled_graphs() -> None:
    # The numbers of directed acyclic graphs without labels.
    assert [len(programs(nodes)) for nodes in (1, 2, 3, 4, 5)] == [1, 2, 6, 31, 302]


def test_checkmate_unpartitioned_decides_every_program_of_up_to_five_nodes() -> None:
    other_order = refuted = 0
    for reads in (reads for nodes in range(1, 6) for reads in programs(nodes)):
        least = least_registers(reads)
        possible = register_allocation(reads, least)
        assert answer(possible) is True, reads
        other_order += possible.instance.store_all_peak_bytes > least
        impossible = register_allocation(reads, least - 1)
        assert answer(impossible) is False, reads
        if least > impossible.instance.least_peak_bound_bytes:
            # Sizes alone do not refuse it.
            refuted += 1
            assert answer(impossible, "any-order-bound") is False, reads
    # Where neither the order given nor sizes settle it.
    assert (other_order, refuted) == (17, 13)


def test_methods_in_the_order_given_do_not_decide_it() -> None:
    # In two registers p or q is computed again before its reader.
    problem = register_allocation(CROSSED, 2)
    assert solve_with(problem, "checkmate", TO_THE_END).time_ns == 5
    assert answer(problem, "checkmate") is None
    assert answer(problem, "orders") is True


def test_programs_of_six_nodes_in_another_order_than_their_own() -> None:
    chance = random.Random(3)
    found = 0
    while found < 8:
        reads = [
            tuple(sorted(chance.sample(range(node), min(node, chance.choice((0, 1, 1, 2))))))
            for node in range(6)
        ]
        least = least_registers(reads)
        problem = register_allocation(reads, least)
        if problem.instance.store_all_peak_bytes > least:
            found += 1
            assert answer(problem) is True, reads
            assert answer(problem, "orders") is True, reads
            assert answer(register_allocation(reads, least - 1)) is False, reads


@pytest.mark.parametrize(
    ("reads", "registers", "said"),
    [
        ([], 3, "nodes: the graph is empty"),
        ([(), (1,)], 3, r"reads\[1\]: 1"),
        ([(), (-1,)], 3, r"reads\[1\]: -1"),
        ([(), (0.0,)], 3, r"reads\[1\]: 0.0"),
        ([(), (0, 0)], 3, "stands twice"),
        ([()], -1, "registers: -1 is negative"),
    ],
)
def test_what_is_no_program_is_refused(
    reads: list[tuple[int, ...]], registers: int, said: str
) -> None:
    with pytest.raises(InputError, match=said):
        register_allocation(reads, registers)
