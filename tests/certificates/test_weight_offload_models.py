"""The models of weight offloading that certificates are about, beside those of the formulations."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

import pytest

from jettison.certificates.errors import CertificateError
from jettison.certificates.integer_model import IntegerModel
from jettison.certificates.weight_offload.aggregated import weight_offload_aggregated
from jettison.certificates.weight_offload.cover import weight_cover
from jettison.certificates.weight_offload.paper import weight_offload_milp
from jettison.formulations.milp.from_pulp import from_pulp
from jettison.formulations.weight_offload.aggregated import Aggregated, Layers
from jettison.formulations.weight_offload.paper import Cut, WeightOffloadMilp
from jettison.formulations.weight_offload.scale import WeightOffloadScale
from jettison.instances.generators.published_transformers import PUBLISHED_ROWS, published_chain
from jettison.instances.weight_offload.problem import WeightOffload
from jettison.solvers.weight_offload.bounds.closed_form import closed_form_ns
from tests.certificates.as_arrays import as_arrays, optimum
from tests.weight_offload.layers import layers_in
from tests.weight_offload.oracles.brute_force import least_period_ns
from tests.weight_offload.oracles.samples import sample

CUTS = ([], ["3a"], ["3b"], ["7'"], ["6c"], ["3a", "3b", "7'", "6c"])


def resources(problem: WeightOffload) -> Mapping[str, int]:
    return {"memory_bytes": problem.memory_bytes, "bytes_per_s": problem.link.bytes_per_s}


def aggregated(problem: WeightOffload, whole: bool) -> IntegerModel:
    stated = weight_offload_aggregated(
        problem.instance.to_json(), resources(problem), {"whole": whole}
    )
    assert stated.valid_for == "all schedules"
    return stated.model


def milp(problem: WeightOffload, cuts: list[str]) -> IntegerModel:
    stated = weight_offload_milp(problem.instance.to_json(), resources(problem), {"cuts": cuts})
    assert stated.valid_for == "all schedules"
    return stated.model


def in_ns(scale: WeightOffloadScale, objective: float) -> float:
    unit = scale.memory.unit * scale.memory.factor
    return objective * unit / float(scale.problem.link.bytes_per_ns)


@pytest.mark.parametrize("whole", [False, True])
def test_the_aggregated_model_has_the_optimum_of_its_formulation(whole: bool) -> None:
    chance = random.Random(5)
    for _ in range(25):
        problem = sample(chance, chance.randint(1, 4), least=chance.randint(0, 1))
        if not problem.cycle.total_weight_bytes:
            continue
        model = aggregated(problem, whole)
        built = Aggregated(Layers.WHOLE if whole else Layers.FLUID).build(problem)
        found = optimum(as_arrays(model))
        known = optimum(built.model)
        assert found is not None
        assert known is not None
        assert found == pytest.approx(in_ns(built.scale, known), abs=1e-6)
        assert model.time_offset_ns == problem.instance.base_time_ns
        # The rows are the same as well: so are the relaxations, where no bound of a column binds.
        relaxed = optimum(as_arrays(model).relaxed())
        known = optimum(built.model.relaxed())
        assert relaxed is not None
        assert known is not None
        assert relaxed == pytest.approx(in_ns(built.scale, known), abs=1e-6)


@pytest.mark.parametrize("cuts", CUTS, ids="-".join)
def test_the_paper_s_model_has_the_optimum_of_its_formulation(cuts: list[str]) -> None:
    chance = random.Random(6)
    for _ in range(12):
        problem = sample(chance, chance.randint(1, 3), least=chance.randint(0, 1))
        if not problem.cycle.total_weight_bytes:
            continue
        options = WeightOffloadMilp(cuts=frozenset(Cut(cut) for cut in cuts))
        built = options.build(problem)
        known = optimum(from_pulp(built.problem).model)
        found = optimum(as_arrays(milp(problem, cuts)))
        assert found is not None
        assert known is not None
        assert found == pytest.approx(in_ns(built.scale, known), abs=1e-6)


def test_no_model_is_above_the_fastest_step() -> None:
    chance = random.Random(7)
    for _ in range(12):
        problem = sample(chance, 2, least=1)
        fastest_ns = least_period_ns(problem)
        assert fastest_ns is not None
        models = [aggregated(problem, False), aggregated(problem, True), milp(problem, CUTS[-1])]
        for model in models:
            found = optimum(as_arrays(model))
            assert found is not None
            assert model.time_offset_ns + found <= fastest_ns + 1e-6


def test_both_models_are_infeasible_in_less_memory_than_an_operation_needs() -> None:
    # A backward of the only layer needs its weights and their gradient: 4 bytes.
    problem = layers_in(3, (1, 1, 0, 2))
    assert optimum(as_arrays(aggregated(problem, False))) is None
    assert optimum(as_arrays(milp(problem, []))) is None


def test_without_weights_only_the_operations_take_time() -> None:
    # The backward needs 1 byte, which was saved.
    for memory_bytes, expected in ((1, 0), (0, None)):
        problem = layers_in(memory_bytes, (1, 1, 1, 0), (1, 1, 0, 0))
        for model in (aggregated(problem, False), aggregated(problem, True), milp(problem, [])):
            assert model.time_offset_ns == 4
            assert optimum(as_arrays(model)) == expected


def test_the_cover_has_the_optimum_of_the_closed_form() -> None:
    chance = random.Random(8)
    larger = 0
    for _ in range(60):
        problem = sample(chance, chance.randint(1, 5), most_bytes=9)
        stated = weight_cover(problem.instance.to_json(), resources(problem), {})
        assert stated.valid_for == "all schedules"
        found = optimum(as_arrays(stated.model))
        assert found is not None
        time_ns = -(-round(found) // stated.model.cost_per_ns)
        known_ns = closed_form_ns(problem)
        # The closed form also knows the operations' time, and what any one operation needs.
        needed_ns = problem.link.transfer_ns(
            max(0, *problem.cycle.excess_bytes(problem.memory_bytes))
        )
        assert max(time_ns, needed_ns, problem.instance.base_time_ns) == known_ns
        larger += time_ns == known_ns > problem.instance.base_time_ns
    assert larger >= 5


def test_published_chains_are_within_the_models() -> None:
    problem = WeightOffload(published_chain(PUBLISHED_ROWS[1]), "60%", "4GB/s")
    model = aggregated(problem, True)
    assert max(map(abs, model.costs)) == 1
    # 4 GB/s are 4 bytes per ns: the rows of the link are those numbers.
    [row] = [row for row in model.rows if row.name == "in_0"]
    assert set(row.coefficients) == {4, -1}


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"kind": "graph"}, "not a chain"),
        ({"stages": []}, "1 to"),
        ({"stages": [7]}, "each an object"),
        ({"input_bytes": -1}, "input_bytes"),
        ({"input_bytes": 1 << 90}, "input_bytes"),
        ({"backward_overhead_holds_gradient": 1}, "true nor false"),
    ],
)
def test_what_is_no_chain_is_refused(changed: dict[str, Any], said: str) -> None:
    problem = layers_in(9, (1, 1, 0, 2), (1, 1, 0, 2))
    document = {**problem.instance.to_json(), **changed}
    with pytest.raises(CertificateError, match=said):
        weight_offload_aggregated(document, resources(problem), {})


def test_other_options_and_resources_are_refused() -> None:
    problem = layers_in(9, (1, 1, 0, 2), (1, 1, 0, 2))
    document, given = problem.instance.to_json(), resources(problem)
    with pytest.raises(CertificateError, match="cuts are some of"):
        weight_offload_milp(document, given, {"cuts": ["3c"]})
    with pytest.raises(CertificateError, match="unknown field"):
        weight_offload_milp(document, given, {"whole": True})
    with pytest.raises(CertificateError, match="bytes_per_s"):
        weight_offload_milp(document, {"memory_bytes": 9, "bytes_per_s": 0}, {})


def test_more_layers_than_a_model_is_built_for_are_refused() -> None:
    problem = layers_in(9, *[(1, 1, 0, 2)] * 301)
    with pytest.raises(CertificateError, match="301 layers"):
        weight_offload_milp(problem.instance.to_json(), resources(problem), {})
