"""The MILP of weight offloading: every schedule is a point, and what the print gets wrong."""

from __future__ import annotations

import random
import re
from dataclasses import replace

import numpy as np
import pytest

from jettison.formulations.milp.array_model import ArrayModel
from jettison.formulations.milp.from_pulp import from_pulp
from jettison.formulations.weight_offload import paper as weight_offload_milp
from jettison.formulations.weight_offload.paper import (
    IMPLIED_CUTS,
    Cut,
    PrintedRow,
    WeightOffloadMilp,
    WeightOffloadMilpModel,
)
from jettison.instances.generators.published_transformers import PUBLISHED_ROWS, published_chain
from jettison.instances.weight_offload.problem import WeightOffload
from jettison.solvers.core.model_files import ModelChoice
from jettison.solvers.core.status import Answer
from jettison.solvers.milp.highs import solve_model
from jettison.solvers.milp.highs_options import HighsOptions
from jettison.solvers.weight_offload.greedy.selection import select_choices
from jettison.solvers.weight_offload.layer_to_layer import layer_to_layer
from jettison.solvers.weight_offload.model_files import MODEL_FILES
from jettison.solvers.weight_offload.scheduler import schedule_selection
from tests.each import each
from tests.tiny import EQUAL_LAYERS, UNEQUAL_LAYERS
from tests.weight_offload.layers import layers_in
from tests.weight_offload.oracles.brute_force import fastest_step, least_period_ns
from tests.weight_offload.oracles.samples import as_schedule, sample
from tests.weight_offload.points import Unrolled

ALL_CUTS = frozenset(Cut)
EXACT = HighsOptions(gap=0, feasibility_tolerance=1e-9)


def built(
    problem: WeightOffload, options: WeightOffloadMilp
) -> tuple[WeightOffloadMilpModel, ArrayModel]:
    found = options.build(problem)
    return found, from_pulp(found.problem).model


def bound_ns(problem: WeightOffload, options: WeightOffloadMilp) -> int | None:
    """Return the time that the model gives, or None if it has no point."""
    found, model = built(problem, options)
    solution = solve_model(model, EXACT)
    if solution.answer is Answer.INFEASIBLE:
        return None
    assert solution.dual_bound is not None
    return found.scale.time_from_solver_ns(solution.dual_bound)


def without_rows(model: ArrayModel, word: str) -> ArrayModel:
    dropped = np.array([name.startswith(f"{word}_") for name in model.row_names])
    assert dropped.any()
    return replace(
        model,
        row_lower=np.where(dropped, -np.inf, model.row_lower),
        row_upper=np.where(dropped, np.inf, model.row_upper),
    )


def theorem_1(numbers: tuple[int, ...], third: int) -> WeightOffload:
    """The instance of Theorem 1 for 3-PARTITION into sets of sum `third`, a unit of time in us."""
    parts = len(numbers) // 3
    rows = []
    for layer in range(1, 5 * parts + 1):
        weight = third if layer <= 2 * parts and layer % 2 else 0
        if layer > 2 * parts:
            weight = numbers[layer - 2 * parts - 1]
        backward_ns = 1000 if layer <= 2 * parts and layer % 2 == 0 else 0
        forward_ns = 1000 * parts if layer == 2 * parts else 0
        rows.append((forward_ns, backward_ns, 0, weight))
    problem = layers_in((parts + 1) * third, *rows)
    return replace(problem, bandwidth=third * 10**6)


def tiny_problems() -> list[WeightOffload]:
    return [
        WeightOffload(chain, least + extra, 250_000_000)
        for chain in (EQUAL_LAYERS, UNEQUAL_LAYERS)
        for least in [WeightOffload(chain, "10GB", "1GB/s").cycle.least_memory_bytes]
        for extra in range(0, 20, 3)
    ]


def test_all_labels_of_the_docstring_are_rows_and_columns_of_the_model() -> None:
    document = weight_offload_milp.__doc__
    assert document is not None
    named = document[document.index("A row is named") : document.index("Every schedule is")]
    words = re.findall(r"``([a-z]+)_[ik]", named)
    assert len(words) == 21
    shared = WeightOffload(EQUAL_LAYERS, 30, "1GB/s:half-duplex")
    _, model = built(shared, WeightOffloadMilp(cuts=ALL_CUTS))
    in_order = dict.fromkeys(name.split("_")[0] for name in model.row_names)
    assert list(in_order) == words
    columns = set(re.findall(r"``([A-Za-z0-9]+)_[ik]", document[: document.index("Model\n")]))
    assert {name.split("_")[0] for name in model.column_names} == columns


def test_the_model_is_as_sparse_as_said() -> None:
    row = next(row for row in PUBLISHED_ROWS if row.name == "gpt2-38-b16-table1")
    problem = WeightOffload(published_chain(row), f"{row.memory_mib}MiB", "12GB/s")
    _, model = built(problem, WeightOffloadMilp())
    # 37 layers with weights, 76 operations, 14 coefficients each.
    assert model.num_nonzeros <= 14 * 37 * 76
    assert WeightOffloadMilp().estimated_coefficients(problem) == 14 * 37 * 76


def test_the_four_kinds_of_rows_that_are_no_part_of_the_paper_prove_more() -> None:
    # So what `paper-milp-strengthened` proves is not what `paper-milp` proves, the paper's program.
    chance = random.Random(3)
    pairs = []
    for _ in range(4):
        problem = sample(chance, 3)
        best_ns = least_period_ns(problem)
        if best_ns is None:
            continue
        papers_ns = bound_ns(problem, WeightOffloadMilp())
        ours_ns = bound_ns(problem, WeightOffloadMilp(cuts=ALL_CUTS))
        assert papers_ns is not None
        assert ours_ns is not None
        assert papers_ns <= ours_ns <= best_ns
        pairs.append((papers_ns, ours_ns))
    assert any(papers_ns < ours_ns for papers_ns, ours_ns in pairs)


@pytest.mark.parametrize("problem", tiny_problems(), ids=str)
def test_layer_to_layer_is_a_point_with_all_cuts(problem: WeightOffload) -> None:
    _, model = built(problem, WeightOffloadMilp(cuts=ALL_CUTS))
    point = Unrolled(problem, layer_to_layer(problem)).point()
    values = [point[name] for name in model.column_names]
    assert model.violations(values) == {}


@each(seed=range(4))
def test_fastest_steps_and_greedy_steps_are_points_with_all_cuts(seed: int) -> None:
    chance = random.Random(seed)
    for _ in range(15):
        problem = sample(chance, 2 + seed % 2)
        best = fastest_step(problem)
        assert best is not None
        schedules = [as_schedule(*best)]
        choices = select_choices(problem)
        greedy = None if choices is None else schedule_selection(problem, choices)
        if greedy is not None:
            schedules.append(greedy)
        _, model = built(problem, WeightOffloadMilp(cuts=ALL_CUTS))
        for schedule in schedules:
            point = Unrolled(problem, schedule).point()
            assert model.violations([point[name] for name in model.column_names]) == {}


@each(seed=range(4))
def test_no_bound_is_above_the_fastest_step_and_cuts_only_raise_it(seed: int) -> None:
    chance = random.Random(100 + seed)
    for _ in range(10):
        problem = sample(chance, 2 + seed % 2)
        fastest_ns = least_period_ns(problem)
        assert fastest_ns is not None
        plain = bound_ns(problem, WeightOffloadMilp())
        cut = bound_ns(problem, WeightOffloadMilp(cuts=ALL_CUTS))
        assert plain is not None
        assert cut is not None
        assert problem.instance.base_time_ns <= plain <= cut <= fastest_ns


def test_counting_the_running_layer_twice_breaks_theorem_1() -> None:
    # 26 + 33 + 41 = 30 + 34 + 36 = 100: a step of 2m = 4 exists. Equation (1)'s M_k in (4) as
    # printed counts V once more, and (m + 1) V is full already.
    problem = theorem_1((26, 33, 41, 30, 34, 36), 100)
    for cuts in (frozenset[Cut](), ALL_CUTS):
        assert bound_ns(problem, WeightOffloadMilp(cuts=cuts)) == 4000
        printed = frozenset({PrintedRow.MEMORY})
        assert bound_ns(problem, WeightOffloadMilp(printed=printed, cuts=cuts)) == 6000


def test_with_the_first_sign_of_6_as_printed_nothing_leaves() -> None:
    # 2 + 3 bytes of weights and 3 of the larger gradient, and one byte less: w_1 has to be absent
    # when B_2 starts. For the model half of it may be back by then, the rest comes during B_2.
    problem = layers_in(7, (1, 1, 0, 2), (1, 1, 0, 3))
    assert bound_ns(problem, WeightOffloadMilp()) == 4
    printed = frozenset({PrintedRow.LEAVING})
    assert bound_ns(problem, WeightOffloadMilp(printed=printed)) is None


def test_a_range_of_5_that_leaves_out_an_operation_proves_less() -> None:
    # As printed what is deleted while F_3 runs need not come back: its time is saved.
    problem = layers_in(8, (0, 2, 2, 2), (2, 1, 0, 3), (1, 2, 1, 1))
    assert bound_ns(problem, WeightOffloadMilp()) == 11
    printed = frozenset({PrintedRow.CYCLE})
    assert bound_ns(problem, WeightOffloadMilp(printed=printed)) == 10


def test_between_the_last_forward_and_its_backward_there_is_one_interval() -> None:
    _, model = built(layers_in(7, (1, 1, 0, 2), (1, 1, 0, 3)), WeightOffloadMilp())
    row = model.row_names.index("late_2")
    columns = model.indices[model.indptr[row] : model.indptr[row + 1]]
    assert {model.column_names[column] for column in columns} == {"D_2_3", "gone1_2"}


def test_without_3_the_bound_is_weaker_and_valid() -> None:
    # B_1 fills the memory with w_1 and its gradient, 3 + 3. So w_2 leaves between B_2 and B_1, and
    # its upload is waited for: 1 ns more than all operations. Without (3) it goes beside B_2.
    problem = layers_in(6, (1, 0, 0, 3), (3, 1, 0, 1))
    found, model = built(problem, WeightOffloadMilp())
    solution = solve_model(without_rows(model, "apart"), EXACT)
    assert solution.dual_bound is not None
    assert found.scale.time_from_solver_ns(solution.dual_bound) == 5
    assert bound_ns(problem, WeightOffloadMilp()) == least_period_ns(problem) == 6


@pytest.mark.parametrize(
    ("name", "cuts"), [("paper-milp", frozenset()), ("paper-milp-strengthened", ALL_CUTS)]
)
def test_the_name_of_a_file_says_whether_it_has_rows_that_the_paper_has_not(
    name: str, cuts: frozenset[Cut]
) -> None:
    problem = WeightOffload(UNEQUAL_LAYERS, "80%", "1GB/s")
    written = MODEL_FILES.build(problem, ModelChoice(formulation=name))
    _, model = built(problem, WeightOffloadMilp(cuts=cuts))
    assert written.row_names == model.row_names
    assert any(row.startswith("turn_") for row in written.row_names) == bool(cuts)


def test_counting_whole_layers_leaves_the_optimum_of_the_papers_program_as_it_is() -> None:
    # (8c) may cut off fractions only, or what it proves would not be of the paper's program.
    chance = random.Random(8)
    raised = 0
    for number in range(40):
        problem = replace(sample(chance, 4), bandwidth=30_000_000 * (1 + number % 3))
        _, papers = built(problem, WeightOffloadMilp())
        _, counted = built(problem, WeightOffloadMilp(cuts=IMPLIED_CUTS))
        optimum = solve_model(papers, EXACT).objective
        assert optimum is not None
        assert solve_model(counted, EXACT).objective == pytest.approx(optimum, abs=1e-5), number
        plain, stronger = (
            solve_model(model.relaxed(), EXACT).objective for model in (papers, counted)
        )
        assert plain is not None
        assert stronger is not None
        assert plain - 1e-6 <= stronger <= optimum + 1e-6, number
        raised += stronger > plain + 1e-6
    assert raised >= 10


def test_columns_without_a_limit_of_their_own_have_the_one_that_the_rows_imply() -> None:
    problem = sample(random.Random(5), 3)
    _, model = built(problem, WeightOffloadMilp())
    free = [
        not name.startswith(("m_", "idle_")) and not model.integer[j]
        for j, name in enumerate(model.column_names)
    ]
    assert any(free)
    assert np.isfinite(model.column_upper[free]).all()
    without = replace(model, column_upper=np.where(free, np.inf, model.column_upper))
    for j in np.flatnonzero(free)[:: max(1, sum(free) // 20)]:
        most = replace(without, objective=-np.eye(model.num_columns)[j])
        objective = solve_model(most, EXACT).objective
        assert objective is not None
        assert -objective <= model.column_upper[j] + 1e-6, model.column_names[j]
