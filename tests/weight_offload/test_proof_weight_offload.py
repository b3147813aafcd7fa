"""Certificates of bounds on weight offloading: as large as the model's, never above the truth."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from jettison import ScheduleClass, WeightOffload
from jettison.certificates.derived_rows import rounded
from jettison.certificates.weight_offload.paper import weight_offload_milp
from jettison.instances.generators.published_transformers import PUBLISHED_ROWS, published_chain
from jettison.solvers.core.outcome import Infeasibility, SolveOptions
from jettison.solvers.weight_offload.bounds.aggregated import bound_weight_fluid, bound_weight_whole
from jettison.solvers.weight_offload.bounds.closed_form import bound_weight_closed_form
from jettison.solvers.weight_offload.bounds.milp import (
    bound_paper_milp,
    bound_paper_milp_strengthened,
)
from jettison.solvers.weight_offload.certifier import certify_weight_offload, whole_layers
from tests.weight_offload.layers import layers_in
from tests.weight_offload.oracles.brute_force import least_period_ns
from tests.weight_offload.oracles.samples import sample

OPTIONS = SolveOptions(time_limit_s=20, gap=0)
METHODS = (
    bound_weight_fluid,
    bound_weight_whole,
    bound_paper_milp,
    bound_paper_milp_strengthened,
    bound_weight_closed_form,
)


def test_what_the_models_bound_by_is_certified_and_at_most_the_fastest_step() -> None:
    chance = random.Random(21)
    above_base = 0
    for _ in range(8):
        problem = sample(chance, 2, least=1)
        fastest_ns = least_period_ns(problem)
        assert fastest_ns is not None
        for method in METHODS:
            outcome = method(problem, OPTIONS)
            certificate = certify_weight_offload(problem, outcome.bounds, None, OPTIONS)
            assert certificate is not None
            assert certificate.valid_for is ScheduleClass.ALL
            assert certificate.time_ns == max(bound.time_ns for bound in outcome.bounds)
            assert certificate.time_ns <= fastest_ns
            assert certificate.checked().claim.instance_sha256 == problem.instance.sha256
            above_base += certificate.time_ns > problem.instance.base_time_ns
    assert above_base >= 8


def test_a_bound_that_is_too_large_is_never_certified() -> None:
    # Three layers of 2 bytes in 7 take 8 ns, and the models prove 6 of them.
    problem = layers_in(7, (0, 2, 0, 2), (0, 1, 0, 2), (0, 1, 0, 2))
    [bound] = bound_weight_closed_form(problem, OPTIONS).bounds
    certificate = certify_weight_offload(problem, [replace(bound, time_ns=50)], None, OPTIONS)
    assert certificate is not None
    assert certificate.time_ns is not None
    assert 4 <= certificate.time_ns <= 8


def test_less_memory_than_an_operation_needs_is_a_certificate_too() -> None:
    problem = layers_in(3, (1, 1, 0, 2), (1, 1, 0, 1))
    refused = bound_weight_fluid(problem, OPTIONS).infeasibility
    assert isinstance(refused, Infeasibility)
    certificate = certify_weight_offload(problem, [], refused, OPTIONS)
    assert certificate is not None
    assert certificate.time_ns is None


def test_without_a_bound_there_is_no_certificate() -> None:
    assert certify_weight_offload(layers_in(9, (1, 1, 0, 2)), [], None, OPTIONS) is None


def test_roundings_of_the_paper_s_model_count_whole_layers() -> None:
    # Four layers of 3 bytes: 12, in 9 with 1 byte saved by each layer. While B_4 runs 4 saved bytes
    # and a gradient of 3 stand beside the weights: 10 above the memory, and so 4 layers, which are
    # one more than there are. While F_1 runs, 1 byte: 4 above it, 2 layers of the others.
    problem = layers_in(9, *[(1, 1, 1, 3)] * 4)
    given = {"memory_bytes": 9, "bytes_per_s": 10**9}
    model = weight_offload_milp(problem.instance.to_json(), given, {}).model
    found = {}
    for rounding in whole_layers(problem, model):
        row = rounded(model, rounding.divisor, rounding.weights)
        first = model.rows[rounding.weights[0][0]].name
        names = {model.column_names[column] for column in row.columns}
        found[first] = (names, set(row.coefficients), row.right)
    # B_4 is operation 0 and F_1 is operation 4; before B_4 all others have run forward last.
    assert found["memory_0"] == ({"gone1_1", "gone1_2", "gone1_3"}, {1}, 4)
    assert found["memory_4"] == ({"gone0_2", "gone0_3", "gone0_4"}, {1}, 2)
    # F_3, with 3 bytes: 6 above the memory. Layers 1 and 2 have run forward, 4 has not.
    assert found["memory_6"] == ({"gone1_1", "gone1_2", "gone0_4"}, {1}, 2)


@pytest.mark.parametrize("whole", [False, True])
def test_published_chains_are_certified_to_the_nanosecond(whole: bool) -> None:
    row = next(row for row in PUBLISHED_ROWS if row.depth == 38)
    problem = WeightOffload(published_chain(row), "60%", "4GB/s")
    method = bound_weight_whole if whole else bound_weight_fluid
    outcome = method(problem, OPTIONS)
    certificate = certify_weight_offload(problem, outcome.bounds, None, OPTIONS)
    assert certificate is not None
    assert certificate.time_ns == max(bound.time_ns for bound in outcome.bounds)
