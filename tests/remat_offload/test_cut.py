"""The model of a cut with offloading: its rows, its optima, and what it refuses."""

from __future__ import annotations

import random
import re

import pytest

import jettison.formulations.remat_offload.cut as module
from jettison import Chain, InputError, RematChain, RematOffloadChain
from jettison.formulations.remat_chain.cut import ChainCut
from jettison.formulations.remat_offload.cut import Divisible, OffloadCut, Whole
from jettison.formulations.remat_offload.moments import Moment, Places
from jettison.remat_offload import Transfers
from jettison.solvers.core.outcome import SolveOptions
from jettison.solvers.milp.highs import solve_model
from jettison.solvers.milp.highs_options import HighsOptions
from jettison.solvers.remat_offload.cut_bound.method import bound_offload_cut
from jettison.solvers.remat_offload.least_memory import least_memory_with_offloading
from tests.drawing.chains import chain_of, random_chain, with_random_gradients
from tests.remat_offload.oracles.judged_offload import judged_offloads

TENSORS = {Transfers.FLUID: Divisible(), Transfers.AT_ONCE: Whole()}
TOLERANCE_NS = 1e-5


def optimum(cut: OffloadCut, problem: RematOffloadChain) -> float | None:
    """Return the optimum of the model, or None if no point fits."""
    return solve_model(cut.build(problem), HighsOptions(gap=0)).objective


def drawn_problem(generator: random.Random, stages: int, transfers: Transfers) -> RematOffloadChain:
    """Return a problem whose memory is between the least one and that of storing everything."""
    chain = random_chain(generator, stages)
    if generator.random() < 0.5:
        chain = with_random_gradients(generator, chain, 6)
    least = least_memory_with_offloading(chain)
    memory_bytes = generator.randint(least, max(least, chain.store_all_peak_bytes))
    rate = generator.choice((5 * 10**8, 10**9, 2 * 10**9))
    return RematOffloadChain(chain, memory_bytes, rate, transfers)


def test_rows_have_the_labels_of_the_docstring_in_its_order() -> None:
    problem = drawn_problem(random.Random(1), 4, Transfers.FLUID)
    model = OffloadCut(4).build(problem)
    labels = re.findall(r"\\text\{\(([a-z]+)\)\}", module.__doc__ or "")
    assert labels[0] == "objective"
    found = dict.fromkeys(name.split("_")[0] for name in model.row_names)
    assert list(found) == labels[1:]


def test_columns_have_the_names_of_the_docstring() -> None:
    problem = drawn_problem(random.Random(1), 4, Transfers.FLUID)
    model = OffloadCut(4).build(problem)
    documented = re.findall(r", ``([a-z]+)(?:_k)?``", module.__doc__ or "")
    assert {name.split("_")[0] for name in model.column_names} == set(documented)


@pytest.mark.parametrize("transfers", list(Transfers))
def test_no_cut_proves_more_than_the_search_over_deadlines(transfers: Transfers) -> None:
    # The search has the rows of every cut and more, and carries rerun bounds on.
    generator = random.Random(2)
    for _ in range(12):
        problem = drawn_problem(generator, generator.randint(2, 5), transfers)
        (bound,) = bound_offload_cut(problem, SolveOptions(time_limit_s=None)).bounds
        for number in range(1, len(problem.instance) + 1):
            for moment in Moment:
                total = optimum(OffloadCut(number, moment, TENSORS[transfers]), problem)
                assert total is not None
                assert total <= bound.time_ns + TOLERANCE_NS


def test_every_cut_at_every_moment_holds_for_every_schedule() -> None:
    for item in [item for item in judged_offloads() if item.is_delayed][::40]:
        for transfers, tensors in TENSORS.items():
            problem = item.with_transfers(transfers)
            for number in range(1, len(item.chain) + 1):
                for moment in Moment:
                    total = optimum(OffloadCut(number, moment, tensors), problem)
                    assert total is not None
                    assert total <= item.fastest_ns + TOLERANCE_NS


def test_tensors_as_a_whole_force_no_less_than_tensors_in_part() -> None:
    generator = random.Random(3)
    more = 0
    for _ in range(15):
        problem = drawn_problem(generator, 4, Transfers.AT_ONCE)
        in_part, whole = (
            optimum(OffloadCut(4, tensors=kind), problem) for kind in TENSORS.values()
        )
        assert in_part is not None
        assert whole is not None
        assert in_part <= whole + TOLERANCE_NS
        more += in_part < whole - TOLERANCE_NS
    assert more


def test_without_a_link_of_use_the_cut_forces_what_it_forces_without_offloading() -> None:
    # A byte takes a second here: nothing moves. Without a size of the input, the two models cut at
    # the same place, the start of B, if no forward overhead is larger than what B needs.
    generator = random.Random(4)
    for _ in range(10):
        stages = [
            (generator.randint(1, 9), output := generator.randint(0, 3), output + 1, 0, 0)
            for _ in range(4)
        ]
        chain = chain_of(0, *stages, (1, 0, 2, 0, 0))
        memory_bytes = generator.randint(chain.recompute_all_peak_bytes, chain.store_all_peak_bytes)
        model = ChainCut(5).build(RematChain(chain, memory_bytes))
        without = solve_model(model, HighsOptions(gap=0)).objective
        total = optimum(OffloadCut(5), RematOffloadChain(chain, memory_bytes, 1))
        assert without is not None
        assert total == pytest.approx(chain.base_time_ns + without, abs=1e-3)


def test_each_moment_counts_its_own_operation_and_what_lies_on_both_sides() -> None:
    # Stage 1: 4 ns forward, 1 back, a 2, ā 5, overheads 3 and 6; the loss: 7 ns and 1, ā 8.
    chain = chain_of(10, (4, 2, 5, 3, 6), (7, 0, 8, 0, 0))
    places = Places(chain, 100)
    found = {
        moment: (place.available_bytes, place.before_ns, place.after_ns)
        for moment in Moment
        for place in [places.at(1, moment)]
    }
    # B 1 takes ā^1, its gradient, that of the input, and its overhead: 5 + 2 + 10 + 6. After the
    # last F_all 1 only B 1 is certain to come: F 2 and B 2 may have been.
    assert found == {
        Moment.BACKWARD_START: (77, 12, 1),
        Moment.BACKWARD_END: (77, 13, 0),
        Moment.SAVING_START: (92, 0, 5),
        Moment.SAVING_END: (92, 4, 1),
        Moment.FIRST_START: (95, 0, 13),
        Moment.FIRST_END: (95, 4, 9),
    }


def test_a_cut_of_a_stage_below_the_first_is_refused() -> None:
    with pytest.raises(InputError, match="number: 0; count stages from 1"):
        OffloadCut(0)


def test_bounds_for_another_number_of_stages_are_refused() -> None:
    with pytest.raises(InputError, match="rerun_ns: 2 bounds for the cut at stage 4"):
        OffloadCut(4, rerun_ns=(1, 2))


def test_a_stage_that_the_chain_does_not_have_is_refused() -> None:
    chain: Chain = random_chain(random.Random(3), 4)
    with pytest.raises(IndexError, match="stage 5 of a chain of 4 stages"):
        OffloadCut(5).build(RematOffloadChain(chain, 20, 1))
