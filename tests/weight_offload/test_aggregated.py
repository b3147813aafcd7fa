"""AGG and AGGINT: valid against brute force, as large as they are said to be, and named as said."""

from __future__ import annotations

import itertools
import random
import re
from dataclasses import replace

import numpy as np
import pytest

from jettison import Chain, InputError, WeightOffload
from jettison.formulations.milp.array_model import ArrayModel
from jettison.formulations.weight_offload import aggregated as weight_offload_aggregated
from jettison.formulations.weight_offload.aggregated import Aggregated, AggregatedModel, Layers
from jettison.formulations.weight_offload.least_layers import Covers
from jettison.instances.generators.published_transformers import PUBLISHED_ROWS, published_chain
from jettison.remat_chain import Stage
from jettison.solvers.milp.highs import solve_model
from jettison.solvers.milp.highs_options import HighsOptions
from jettison.solvers.weight_offload.bounds.any_model import relaxed_bound_ns
from tests.weight_offload.layers import layers_in
from tests.weight_offload.oracles.brute_force import least_period_ns
from tests.weight_offload.oracles.samples import sample

EXACT = HighsOptions(gap=0, feasibility_tolerance=1e-9)


def optimum(model: ArrayModel) -> float:
    solution = solve_model(model, EXACT)
    assert solution.dual_bound is not None
    return solution.dual_bound


def both_bounds_ns(built: AggregatedModel) -> tuple[int, int]:
    """Return what the relaxation proves in exact arithmetic, and what the model does."""
    relaxation = solve_model(built.model.relaxed(), EXACT)
    relaxed_ns = relaxed_bound_ns(built.model, built.scale, relaxation)
    return relaxed_ns, built.scale.time_from_solver_ns(optimum(built.model))


def equal_layers(chance: random.Random) -> WeightOffload:
    """Draw three or four layers, all but the first of which have the same weights."""
    size = chance.randint(1, 2)
    count = chance.randint(3, 4)
    stages = tuple(
        Stage(
            name=f"layer {number}",
            forward_ns=chance.randint(0, 2),
            backward_ns=chance.randint(0, 2),
            output_bytes=0,
            saved_bytes=chance.randint(0, 1),
            weight_bytes=size if number else chance.choice((0, size, size + 1)),
        )
        for number in range(count)
    )
    cycle = WeightOffload(Chain("equal", 0, stages), 10**9, 10**9).cycle
    memory_bytes = chance.randint(cycle.least_memory_bytes, cycle.no_offload_peak_bytes)
    return WeightOffload(cycle.chain, memory_bytes, 10**9)


def with_order(model: ArrayModel, layers: int) -> ArrayModel:
    """Add that y0 never falls from one layer to the next."""
    columns = [model.column_names.index(f"y0_{layer}") for layer in range(1, layers + 1)]
    pairs = list(itertools.pairwise(columns))
    ends = model.indptr[-1] + 2 * np.arange(1, len(pairs) + 1)
    return replace(
        model,
        indptr=np.concatenate((model.indptr, ends)),
        indices=np.concatenate((model.indices, np.array(pairs).ravel())),
        data=np.concatenate((model.data, np.tile((-1.0, 1.0), len(pairs)))),
        row_lower=np.concatenate((model.row_lower, np.zeros(len(pairs)))),
        row_upper=np.concatenate((model.row_upper, np.full(len(pairs), np.inf))),
        row_names=(*model.row_names, *(f"order_{place}" for place in range(len(pairs)))),
    )


@pytest.mark.parametrize("layers", [2, 3])
def test_no_bound_is_above_the_fastest_step(layers: int) -> None:
    chance = random.Random(layers)
    for _ in range(40 if layers == 2 else 10):
        problem = sample(chance, layers, least=1)
        fastest_ns = least_period_ns(problem)
        assert fastest_ns is not None
        fluid = both_bounds_ns(Aggregated(Layers.FLUID).build(problem))
        whole = both_bounds_ns(Aggregated(Layers.WHOLE).build(problem))
        assert problem.instance.base_time_ns <= fluid[0] <= fluid[1] <= whole[1] <= fastest_ns
        assert fluid[0] <= whole[0] <= whole[1]


def test_no_bound_is_above_the_fastest_step_with_equal_layers() -> None:
    chance = random.Random(7)
    for _ in range(10):
        problem = equal_layers(chance)
        fastest_ns = least_period_ns(problem)
        assert fastest_ns is not None
        for layers in Layers:
            relaxed_ns, whole_ns = both_bounds_ns(Aggregated(layers).build(problem))
            assert relaxed_ns <= whole_ns <= fastest_ns


def test_layers_that_move_as_a_whole_prove_more() -> None:
    # Three layers of 2 bytes in 7: each backward needs 2 more, so that a byte has to be absent, and
    # then it is a layer. Half a layer may be back early in the fluid model.
    problem = layers_in(7, (0, 2, 0, 2), (0, 1, 0, 2), (0, 1, 0, 2))
    assert both_bounds_ns(Aggregated(Layers.FLUID).build(problem)) == (4, 5)
    assert both_bounds_ns(Aggregated(Layers.WHOLE).build(problem)) == (5, 6)
    assert least_period_ns(problem) == 8


def test_an_order_of_layers_is_no_valid_row() -> None:
    problem = layers_in(11, (0, 0, 1, 3), (0, 0, 1, 1), (0, 0, 0, 1), (2, 2, 0, 3))
    assert least_period_ns(problem) == 7
    built = Aggregated(Layers.FLUID).build(problem)
    assert built.scale.time_from_solver_ns(optimum(built.model)) == 6
    assert built.scale.time_from_solver_ns(optimum(with_order(built.model, 4))) == 8


def test_with_equal_layers_an_order_changes_the_optimum() -> None:
    # (forward ns, backward ns, saved, forward overhead, backward overhead), a byte per 4 ns.
    rows = ((2, 0, 0, 0, 0), (0, 0, 0, 3, 6), (2, 2, 1, 3, 0), (0, 8, 0, 3, 6))
    stages = tuple(
        Stage(
            name=f"layer {number}",
            forward_ns=forward_ns,
            backward_ns=backward_ns,
            output_bytes=0,
            saved_bytes=saved_bytes,
            forward_overhead_bytes=forward_bytes,
            backward_overhead_bytes=backward_bytes,
            weight_bytes=2,
        )
        for number, (forward_ns, backward_ns, saved_bytes, forward_bytes, backward_bytes) in (
            enumerate(rows, 1)
        )
    )
    built = Aggregated(Layers.FLUID).build(
        WeightOffload(Chain("equal", 0, stages), 12, 250_000_000)
    )
    assert optimum(built.model) == pytest.approx(5.0)
    assert optimum(with_order(built.model, 4)) == pytest.approx(5.5)


def test_all_labels_of_the_docstring_are_rows_and_columns_of_the_model() -> None:
    document = weight_offload_aggregated.__doc__
    assert document is not None
    named = document[document.index("A row is named") : document.index("Every schedule is")]
    words = set(re.findall(r"``([a-z]+)(?:_G)?_[ikl]``", named))
    assert len(words) == 20
    # An embedding, and two other sizes beside the blocks.
    row = next(row for row in PUBLISHED_ROWS if row.name == "gpt2-38-b16-table1")
    chain = published_chain(row)
    last = replace(chain.stages[-1], weight_bytes=2**20)
    chain = replace(chain, stages=(*chain.stages[:-1], last))
    model = Aggregated(Layers.WHOLE).build(WeightOffload(chain, "80%", "2GB/s:half-duplex")).model
    assert {name.split("_")[0] for name in model.row_names} == words
    columns = set(re.findall(r"``([A-Za-z0-9]+)(?:_G)?_[ikl]", document))
    assert {name.split("_")[0] for name in model.column_names} <= columns


def test_the_model_grows_with_the_number_of_layers_alone() -> None:
    row = PUBLISHED_ROWS[0]
    sizes = []
    for depth in (100, 200, 400):
        chain = published_chain(replace(row, depth=depth))
        model = Aggregated(Layers.WHOLE).build(WeightOffload(chain, "60%", "4GB/s")).model
        sizes.append((model.num_rows, model.num_columns, model.num_nonzeros))
    small, middle, large = np.array(sizes)
    assert (large - middle <= 2.1 * (middle - small)).all()


def test_the_least_number_of_layers_is_that_of_the_largest_ones() -> None:
    chance = random.Random(3)
    for _ in range(50):
        sizes = [chance.randint(0, 5) for _ in range(6)]
        covers = Covers(sizes)
        for layer in range(6):
            others = sorted((size for place, size in enumerate(sizes) if place != layer))[::-1]
            for excess in range(1, sum(others) + 1):
                number = next(n for n in range(6) if sum(others[:n]) >= excess)
                assert covers.least_number(layer, excess) == number


def test_a_chain_without_weights_has_no_model() -> None:
    stage = Stage(name="only", forward_ns=1, backward_ns=1, output_bytes=0, saved_bytes=1)
    with pytest.raises(InputError, match="without weights"):
        Aggregated().build(WeightOffload(Chain("light", 0, (stage,)), "50%", "1GB/s"))
