"""The model of a cut: its optimum, its rows, and what it refuses."""

from __future__ import annotations

import random
from itertools import product

import pytest

from jettison import Chain, InputError, RematChain
from jettison.formulations.remat_chain import cut as chain_cut
from jettison.formulations.remat_chain.cut import ChainCut, bytes_beside_stage
from jettison.remat_chain import Stage
from jettison.solvers.milp.highs import solve_model
from jettison.solvers.milp.highs_options import HighsOptions
from jettison.solvers.remat_chain.cut_bound import ChainCuts
from tests.drawing.chains import random_chain, with_random_gradients


def optimum(cut: ChainCut, problem: RematChain) -> int | None:
    """Return the optimum of the model, or None if no point fits."""
    objective = solve_model(cut.build(problem), HighsOptions(gap=0)).objective
    return None if objective is None else round(objective)


def problems(seed: int, count: int, most_stages: int) -> list[RematChain]:
    """Random chains of both conventions, each in a memory from far too little to plenty."""
    generator = random.Random(seed)
    found = []
    for number in range(count):
        chain = random_chain(generator, generator.randint(1, most_stages))
        if number % 2:
            chain = with_random_gradients(random.Random(number), chain, 6)
        peak = chain.store_all_peak_bytes
        found.append(RematChain(chain, generator.randint(peak // 3, peak + 1)))
    return found


def test_the_optimum_is_what_the_enumeration_finds() -> None:
    for problem in problems(seed=1, count=60, most_stages=8):
        chain = problem.instance
        cuts = ChainCuts(chain, problem.memory_bytes)
        rerun_ns = [0]
        for number in range(1, len(chain) + 1):
            expected = cuts.rerun_ns(number, rerun_ns)
            assert optimum(ChainCut(number, rerun_ns[1:]), problem) == expected
            rerun_ns.append(expected or 0)


def test_without_bounds_of_other_cuts_the_model_is_a_knapsack() -> None:
    for problem in problems(seed=2, count=30, most_stages=5):
        chain = problem.instance
        for number in range(1, len(chain) + 1):
            available = bytes_beside_stage(chain, problem.memory_bytes, number)
            assert optimum(ChainCut(number), problem) == knapsack(chain, number, available)


def knapsack(chain: Chain, number: int, available: int) -> int | None:
    """Try every choice of stages to save below a cut."""
    below = chain.stages[: number - 1]
    best: int | None = None
    for saved in product((False, True), repeat=len(below)):
        needed = sum(stage.saved_bytes for stage, keep in zip(below, saved, strict=True) if keep)
        if below and not saved[-1]:
            needed += below[-1].output_bytes
        time_ns = sum(
            stage.forward_ns for stage, keep in zip(below, saved, strict=True) if not keep
        )
        if needed <= available:
            best = time_ns if best is None else min(best, time_ns)
    return best


def test_rows_and_columns_are_named_after_the_labels_of_the_docstring() -> None:
    problem = RematChain(random_chain(random.Random(3), 4), 20)
    model = ChainCut(4).build(problem)
    assert model.row_names == (
        "memory", "input", "top_1", "top_2", "top_3", "start_1", "start_2", "start_3",
        "path_1", "path_2", "once", "again",
    )  # fmt: skip
    documented = chain_cut.__doc__ or ""
    for name in model.row_names:
        assert rf"\text{{({name.split('_')[0]})}}" in documented
    for name in model.column_names:
        assert f"``{name.split('_')[0]}" in documented


def test_the_working_memory_of_a_stage_follows_the_convention_of_its_overhead() -> None:
    stage = Stage(
        name="layer",
        forward_ns=1,
        backward_ns=1,
        output_bytes=2,
        saved_bytes=5,
        forward_overhead_bytes=4,
        backward_overhead_bytes=1,
    )
    loss = Stage(name="loss", forward_ns=1, backward_ns=1, output_bytes=0, saved_bytes=0)
    # Of 100 bytes, 7 are the input and 5 are saved. The backward adds the gradient of the output,
    # 2, that of the input, 7, and 1; or without the 7 only 3, where the forward's 4 count.
    apart = Chain("apart", 7, (stage, loss))
    within = Chain("within", 7, (stage, loss), backward_overhead_holds_gradient=True)
    assert bytes_beside_stage(apart, 100, 1) == 100 - 7 - 5 - 10
    assert bytes_beside_stage(within, 100, 1) == 100 - 7 - 5 - 4


def test_a_cut_of_a_stage_below_the_first_is_refused() -> None:
    with pytest.raises(InputError, match="number: 0; count stages from 1"):
        ChainCut(0)


def test_bounds_for_another_number_of_stages_are_refused() -> None:
    with pytest.raises(InputError, match="rerun_ns: 2 bounds for the cut at stage 4"):
        ChainCut(4, (1, 2))


def test_a_stage_that_the_chain_does_not_have_is_refused() -> None:
    with pytest.raises(IndexError, match="stage 5 of a chain of 4 stages"):
        ChainCut(5).build(RematChain(random_chain(random.Random(3), 4), 20))
