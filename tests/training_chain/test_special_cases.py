"""Special cases of one budget: weights alone are weight offloading, activations alone POFO's."""

from __future__ import annotations

import random
from dataclasses import replace

import jettison as jt
from jettison.instances.remat_chain.chain import Chain
from jettison.instances.training_chain.problem import TrainingChain
from jettison.instances.weight_offload.problem import WeightOffload
from jettison.solvers.core.outcome import SolveOptions
from jettison.solvers.core.solve import solve_with
from tests.drawing.chains import stage_of
from tests.training_chain.oracles.search import least_time
from tests.training_chain.test_bounds import given

OPTIONS = SolveOptions(time_limit_s=None)


def weights_alone(chance: random.Random, stages: int) -> WeightOffload:
    """Return layers without activations, so that nothing is worth computing again.

    Gradients are as large as the weights, and updates take no time, as in weight offloading.
    """
    layers = tuple(
        stage_of(
            f"layer {number}",
            chance.randint(1, 4),
            chance.randint(1, 6),
            weight_bytes=chance.randint(1, 5),
        )
        for number in range(1, stages + 1)
    )
    chain = Chain("weights", 0, layers)
    cycle = WeightOffload(chain, 10**6, 10**9).cycle
    least, most = cycle.least_memory_bytes, cycle.no_offload_peak_bytes
    return WeightOffload(chain, chance.randint(least, most), 10**9)


def test_weights_alone_have_the_optimum_of_weight_offloading() -> None:
    chance = random.Random(7)
    waiting = 0
    for seed in range(12):
        posed = weights_alone(chance, 2)
        exact = jt.solve(posed, "exact", time_limit=None)
        stages = tuple(given(stage) for stage in posed.instance)
        found = least_time(stages, posed.memory_bytes, 1)
        assert found is not None, seed
        assert exact.time_ns == found.time, seed
        waiting += found.time > posed.instance.base_time_ns
    assert waiting > 2


def test_the_cycle_bound_is_never_below_the_aggregated_one_where_weights_are_alone() -> None:
    chance = random.Random(8)
    above = 0
    for seed in range(25):
        posed = weights_alone(chance, chance.randint(3, 5))
        problem = TrainingChain(posed.instance, posed.memory_bytes, posed.link)
        cycle = solve_with(problem, "cycle", OPTIONS).lower_bound_ns
        fluid = solve_with(posed, "agg", OPTIONS)
        proved = [bound.time_ns for bound in fluid.bounds if bound.evidence.value != "solver"]
        exact = jt.solve(posed, "exact", time_limit=None)
        assert cycle is not None
        assert exact.time_ns is not None
        assert cycle <= exact.time_ns, seed
        # Multipliers of both are rounded: a nanosecond may be lost.
        assert cycle >= min(proved) - 1, (seed, cycle, proved)
        above += cycle > min(proved)
    assert above


def test_the_joint_search_is_as_good_as_the_optimum_of_weights_alone_most_of_the_time() -> None:
    chance = random.Random(9)
    equal = 0
    for seed in range(10):
        posed = weights_alone(chance, 3)
        problem = TrainingChain(posed.instance, posed.memory_bytes, posed.link)
        exact = jt.solve(posed, "exact", time_limit=None)
        found = jt.solve(problem, time_limit=None)
        assert exact.time_ns is not None
        if found.time_ns is None:
            continue
        # Nothing is to be gained by computing anything again.
        assert found.time_ns >= exact.time_ns, seed
        equal += found.time_ns == exact.time_ns
    assert equal >= 4


def test_activations_alone_never_take_longer_than_rotor_beside_the_weights() -> None:
    chance = random.Random(10)
    compared = 0
    for seed in range(10):
        stages = []
        for number in range(1, 5):
            output = chance.randint(1, 3) if number < 4 else 0
            stages.append(
                stage_of(
                    f"s{number}",
                    chance.randint(1, 4),
                    chance.randint(1, 6),
                    output,
                    output + chance.randint(0, 4),
                )
            )
        chain = Chain("activations", 1, tuple(stages))
        memory = chance.randint(chain.store_all_peak_bytes // 2, chain.store_all_peak_bytes)
        # A link so slow that a transfer never pays.
        problem = TrainingChain(chain, memory, 1)
        alone = jt.solve(jt.RematChain(chain, memory), "rotor-exact", time_limit=None)
        found = jt.solve(problem, time_limit=None)
        if alone.time_ns is None:
            continue
        assert found.time_ns is not None, seed
        assert found.time_ns <= alone.time_ns, seed
        compared += 1
        assert jt.solve(replace(problem, memory="100%")).time_ns == chain.base_time_ns
    assert compared > 3
