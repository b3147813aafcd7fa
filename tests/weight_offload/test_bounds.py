"""The bounds of weight offloading: by hand, against each other, within limits, on Table 1."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable
from dataclasses import replace
from unittest.mock import patch

import pytest

from jettison import Chain, ScheduleClass, WeightOffload, load
from jettison.formulations.milp.array_model import ArrayModel
from jettison.formulations.weight_offload.aggregated import Aggregated, Layers
from jettison.instances.generators.published_transformers import PUBLISHED_ROWS, PublishedRow
from jettison.remat_chain import Stage
from jettison.solvers.core.bound import Evidence
from jettison.solvers.core.clock import Clock
from jettison.solvers.core.outcome import Outcome, Progress, SolveOptions
from jettison.solvers.core.registry import find_method
from jettison.solvers.core.status import Answer, Termination
from jettison.solvers.milp.highs_options import HighsOptions
from jettison.solvers.milp.solution import ModelSolution
from jettison.solvers.milp.solution import Progress as ModelProgress
from jettison.solvers.weight_offload.bounds.any_model import solve_for_bound
from jettison.solvers.weight_offload.bounds.closed_form import closed_form_ns, least_sum
from tests.each import each
from tests.tiny import EQUAL_LAYERS
from tests.weight_offload.layers import layers_in
from tests.weight_offload.oracles.brute_force import least_period_ns
from tests.weight_offload.oracles.samples import sample

METHODS = ("paper-milp", "paper-milp-strengthened", "agg", "aggint", "closed-form")
MODELS = METHODS[:-1]
EXACT = SolveOptions(time_limit_s=20, gap=0)


def bounds(problem: WeightOffload, method: str, options: SolveOptions = EXACT) -> Outcome:
    return find_method("weight-offload", method).run(problem, options)


def published(name: str, bandwidth: str) -> WeightOffload:
    row = next(row for row in PUBLISHED_ROWS if row.name == name)
    chain = load(name)
    assert isinstance(chain, Chain)
    return WeightOffload(chain, f"{row.memory_mib}MiB", bandwidth)


def layers(memory_bytes: int, *weights: int) -> WeightOffload:
    """Pose layers that take no time and save nothing, at a byte per ns."""
    return layers_in(memory_bytes, *((0, 0, 0, size) for size in weights))


def test_the_closed_form_counts_whole_layers_at_both_ends() -> None:
    # Four layers of 3 bytes and a gradient of 3 in 10 bytes: 5 bytes, that is two layers, are
    # absent at B_4 and at B_1. Four prefetches of 3 ns.
    assert closed_form_ns(layers(10, 3, 3, 3, 3)) == 12
    # One byte less makes no third layer, one more no difference: 6 and 4 bytes.
    assert closed_form_ns(layers(9, 3, 3, 3, 3)) == 12
    assert closed_form_ns(layers(11, 3, 3, 3, 3)) == 12
    # 3 bytes are absent now.
    assert closed_form_ns(layers(12, 3, 3, 3, 3)) == 6


def test_the_closed_form_covers_with_layers_of_other_sizes() -> None:
    # 5 + 4 + 2 bytes in 10. At layer 3 (2 bytes and as much for the gradient) 3 bytes are absent,
    # so w_2 (4 bytes). At layer 1 it is 6, of w_2 and w_3: both.
    assert closed_form_ns(layers(10, 5, 4, 2)) == 4 + 6


def test_the_least_sum_is_that_of_some_subset() -> None:
    chance = random.Random(1)
    for _ in range(40):
        sizes = [chance.randint(0, 30) for _ in range(6)]
        sums = {sum(some) for count in range(7) for some in itertools.combinations(sizes, count)}
        for at_least in range(-1, sum(sizes) + 1):
            assert least_sum(sizes, at_least, most_sums=1_000) == min(
                s for s in sums if s >= at_least
            )


def test_with_too_many_sums_the_least_sum_is_a_lower_bound() -> None:
    # Multiples of 6; there may be eight of them, and 6 + 48 makes 9.
    assert least_sum([6, 48], 7, most_sums=9) == 48
    assert least_sum([6, 48], 7, most_sums=8) == 12
    assert least_sum([4, 6], 100, most_sums=9) == 100


@each(seed=range(3))
def test_no_bound_is_above_the_fastest_step(seed: int) -> None:
    chance = random.Random(200 + seed)
    for _ in range(6 if seed == 0 else 12):
        problem = sample(chance, 2 if seed else 3, least=seed)
        fastest_ns = least_period_ns(problem)
        assert fastest_ns is not None
        for method in METHODS:
            found = bounds(problem, method)
            assert found.termination.is_regular
            for bound in found.bounds:
                assert problem.instance.base_time_ns <= bound.time_ns <= fastest_ns
                assert bound.valid_for is ScheduleClass.ALL
                assert bound.method == method


@pytest.mark.parametrize("method", METHODS)
def test_too_little_memory_is_named(method: str) -> None:
    least_bytes = WeightOffload(EQUAL_LAYERS, "1GB", "1GB/s").cycle.least_memory_bytes
    found = bounds(WeightOffload(EQUAL_LAYERS, least_bytes - 1, "1GB/s"), method)
    assert found.bounds == ()
    assert found.infeasibility is not None
    assert found.infeasibility.least_memory_bytes == least_bytes


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("memory", ["100%", "1TB"])
def test_in_enough_memory_the_base_time_is_all(method: str, memory: str) -> None:
    [bound] = bounds(WeightOffload(EQUAL_LAYERS, memory, "1GB/s"), method).bounds
    assert bound.time_ns == EQUAL_LAYERS.base_time_ns
    assert bound.evidence is Evidence.EXACT


@pytest.mark.parametrize("row", PUBLISHED_ROWS, ids=lambda row: row.name)
@pytest.mark.parametrize("method", ["paper-milp", "paper-milp-strengthened", "closed-form"])
def test_the_lower_bound_of_table_1_is_the_base_time(row: PublishedRow, method: str) -> None:
    # 12000 MiB/s: the column ILP of the table is that without waiting.
    problem = published(row.name, "12000MiB/s")
    found = bounds(problem, method, SolveOptions(time_limit_s=300, gap=0))
    assert found.termination.is_regular
    assert [bound.time_ns for bound in found.bounds] == [problem.instance.base_time_ns]


def test_the_relaxation_is_proved_and_the_model_proves_more() -> None:
    # Three layers of 2 bytes in 7, backwards of 2, 1 and 1 ns: tests/formulations derives both.
    equal = layers(7, 2, 2, 2).instance
    stages = tuple(
        replace(stage, backward_ns=time_ns)
        for stage, time_ns in zip(equal.stages, (2, 1, 1), strict=True)
    )
    relaxed, whole = bounds(WeightOffload(replace(equal, stages=stages), 7, 10**9), "agg").bounds
    assert (relaxed.evidence, relaxed.time_ns) == (Evidence.EXACT, 4)
    assert (whole.evidence, whole.time_ns) == (Evidence.SOLVER, 5)


@pytest.mark.parametrize("method", MODELS)
def test_a_time_limit_leaves_what_has_been_proved(method: str) -> None:
    problem = published("gpt2-74-b16-table1", "2000MiB/s")
    found = bounds(problem, method, SolveOptions(time_limit_s=0.05))
    assert found.termination is Termination.TIME_LIMIT
    assert all(bound.time_ns >= problem.instance.base_time_ns for bound in found.bounds)
    assert found.bounds or found.note


@pytest.mark.parametrize("method", MODELS)
def test_an_interrupt_leaves_what_has_been_proved(method: str) -> None:
    def interrupt(progress: Progress) -> None:
        raise KeyboardInterrupt

    problem = published("gpt2-38-b16-table1", "1000MiB/s")
    found = bounds(problem, method, SolveOptions(on_progress=interrupt))
    assert found.termination is Termination.INTERRUPTED
    assert found.bounds[0].time_ns >= problem.instance.base_time_ns


@pytest.mark.parametrize(
    ("objective", "dual_bound", "termination"),
    [(3.0, 3.0, Termination.COMPLETED), (1000.0, 500.0, Termination.GAP_REACHED)],
)
def test_a_run_that_is_ended_because_nothing_is_open_has_not_merely_reached_a_gap(
    objective: float, dual_bound: float, termination: Termination
) -> None:
    built = Aggregated(Layers.FLUID).build(layers(7, 2, 2, 2))

    def runs(
        model: ArrayModel, options: HighsOptions, watch: Callable[..., None], **_: object
    ) -> ModelSolution:
        watch(ModelProgress(0.1, objective, dual_bound, 0))
        return ModelSolution(
            termination=Termination.INTERRUPTED, answer=Answer.FEASIBLE, seconds=0.1
        )

    with patch("jettison.solvers.weight_offload.bounds.any_model.solve_in_time", runs):
        found = solve_for_bound(
            built.model, built.scale, SolveOptions(gap=0.9), Clock(None), known_ns=0
        )
    assert found.termination is termination


def test_progress_never_falls() -> None:
    seen: list[int] = []

    def note(progress: Progress) -> None:
        assert progress.lower_bound_ns is not None
        seen.append(progress.lower_bound_ns)

    bounds(published("gpt2-38-b16-table1", "1000MiB/s"), "agg", SolveOptions(on_progress=note))
    assert len(seen) > 1
    assert seen == sorted(seen)


def test_a_model_that_is_too_large_is_declined() -> None:
    row = PUBLISHED_ROWS[0]
    chain = load(row.name)
    assert isinstance(chain, Chain)
    long = Chain(
        "long",
        0,
        chain.stages[:1]
        + tuple(
            Stage(
                name=f"block {number}",
                forward_ns=10**6,
                backward_ns=2 * 10**6,
                output_bytes=0,
                saved_bytes=2**20,
                weight_bytes=2**28,
            )
            for number in range(600)
        ),
    )
    found = bounds(WeightOffload(long, "50%", "1GB/s"), "paper-milp")
    assert found.termination is Termination.MEMORY_LIMIT
    assert found.note is not None
    assert "use agg" in found.note
