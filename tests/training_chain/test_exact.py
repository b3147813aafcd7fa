"""Exact search of one budget: beside the brute force, bounds and heuristics, and at its limits."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

import jettison as jt
from jettison.instances.remat_chain.chain import Chain
from jettison.instances.training_chain.problem import TrainingChain
from jettison.instances.weight_offload.problem import WeightOffload
from jettison.solvers.core.outcome import SolveOptions
from jettison.solvers.core.solve import solve_with
from jettison.solvers.core.status import Termination
from jettison.solvers.training_chain.exact_step import TrainingExactParams, solve_training_exactly
from tests.drawing.training_chains import random_training_chain
from tests.training_chain.oracles.search import least_time
from tests.training_chain.test_bounds import HEURISTICS, given, tiny_problem
from tests.training_chain.test_special_cases import weights_alone

OPTIONS = SolveOptions(time_limit_s=None)
BOUNDS = ("cycle", "cut-bound", "weights-bound")


def drawn(chance: random.Random, chain: Chain, link: str = "1GB/s") -> TrainingChain:
    """Return a chain in a memory from half of what all needs to all of it."""
    peak = TrainingChain(chain, "100%", link).memory_bytes
    return TrainingChain(chain, chance.randint(peak // 2, peak), link)


def test_the_least_time_is_that_of_the_brute_force() -> None:
    chance = random.Random(4)
    above = 0
    for seed in range(3):
        problem = tiny_problem(chance)
        best = least_time(tuple(map(given, problem.instance)), problem.memory_bytes, 1)
        found = jt.solve(problem, "exact", time_limit=None)
        if best is None:
            assert found.infeasibility is not None, seed
            continue
        assert found.time_ns == found.lower_bound_ns == best.time, seed
        above += best.time > problem.base_time_ns
    assert above


def test_every_bound_is_no_larger_and_every_schedule_no_faster() -> None:
    chance = random.Random(22)
    above = infeasible = 0
    for seed in range(12):
        stages = chance.randint(1, 3)
        trained = None if stages < 3 else {chance.randint(1, 3)}
        problem = drawn(chance, random_training_chain(chance, stages, trained))
        exact = solve_with(problem, "exact", OPTIONS)
        for name in BOUNDS:
            bound = solve_with(problem, name, OPTIONS)
            if bound.infeasibility is not None:
                assert exact.infeasibility is not None, (seed, name)
            elif exact.time_ns is not None:
                assert bound.lower_bound_ns is not None
                assert bound.lower_bound_ns <= exact.time_ns, (seed, name)
        infeasible += exact.infeasibility is not None
        for name in HEURISTICS:
            if name in {"exact", "local-search"}:
                continue
            time_ns = solve_with(problem, name, OPTIONS).time_ns
            if time_ns is not None:
                assert exact.lower_bound_ns is not None, (seed, name)
                assert time_ns >= exact.lower_bound_ns, (seed, name)
        above += (exact.time_ns or 0) > problem.base_time_ns
    assert above > 2
    assert infeasible > 1


@pytest.mark.parametrize("stages", [2, 3])
def test_weights_alone_have_the_optimum_of_weight_offloading(stages: int) -> None:
    chance = random.Random(7)
    waiting = 0
    for seed in range(8):
        posed = weights_alone(chance, stages)
        problem = TrainingChain(posed.instance, posed.memory_bytes, posed.link)
        joint = jt.solve(problem, "exact", time_limit=None)
        alone = jt.solve(posed, "exact", time_limit=None)
        assert joint.time_ns == joint.lower_bound_ns == alone.time_ns, seed
        waiting += (alone.time_ns or 0) > posed.instance.base_time_ns
    assert waiting


def test_on_a_link_that_moves_nothing_activations_alone_are_recomputed_in_any_order() -> None:
    # A byte takes 50 ns, longer than any step.
    chance = random.Random(24)
    above = 0
    for seed in range(10):
        chain = random_training_chain(chance, 3, ())
        problem = replace(drawn(chance, chain), bandwidth=2 * 10**7)
        found = jt.solve(problem, "exact", time_limit=None)
        again = jt.solve(jt.RematChain(chain, problem.memory_bytes), "unrestricted")
        if again.time_ns is None:
            assert found.time_ns is None or found.time_ns > 50, seed
            continue
        assert found.time_ns == again.time_ns, seed
        above += again.time_ns > chain.base_time_ns
    assert above


def test_on_a_link_that_moves_nothing_weights_are_resident_bytes_beside_any_order() -> None:
    # A byte takes 100 ns. Each stage is updated at once, and so one gradient exists at a time.
    chance = random.Random(24)
    compared = above = 0
    for seed in range(60):
        stages = chance.choice((2, 3))
        chain = random_training_chain(chance, stages, None if stages == 2 else {seed % 3 + 1})
        chain = replace(chain, stages=tuple(replace(s, host_update_ns=None) for s in chain))
        problem = replace(drawn(chance, chain), bandwidth=10**7)
        resident = sum(stage.weight_bytes + stage.optimizer_state_bytes for stage in chain)
        beside = problem.memory_bytes - resident
        alone = with_gradients_as_overheads(chain)
        again = jt.solve(jt.RematChain(alone, max(beside, 0)), "unrestricted").time_ns
        if again is None:
            continue
        found = jt.solve(problem, "exact", time_limit=None)
        expected = again + sum(stage.update_ns for stage in chain)
        assert found.time_ns == found.lower_bound_ns == expected, seed
        compared += 1
        above += expected > problem.base_time_ns
    assert compared > 10
    assert above > 5


def with_gradients_as_overheads(chain: Chain) -> Chain:
    """Return the chain without an optimizer; backward operations have its gradients beside them."""
    stages = []
    for number, stage in enumerate(chain, start=1):
        left = chain.gradient_bytes(number - 1) if number > 1 else 0
        working = max(stage.backward_overhead_bytes, left - chain.backward_output_bytes(number))
        stages.append(
            replace(
                stage,
                backward_overhead_bytes=working + stage.gradient_of_weights_bytes,
                weight_bytes=0,
                weight_gradient_bytes=None,
                optimizer_state_bytes=0,
                update_ns=0,
            )
        )
    return replace(chain, stages=tuple(stages))


def test_in_more_memory_than_keeping_everything_needs_the_host_may_be_faster() -> None:
    # Gradients of several stages wait for the link, which is what the memory is for.
    chance = random.Random(1)
    faster = 0
    for seed in range(12):
        chain = random_training_chain(chance, 2)
        stages = tuple(
            replace(
                stage,
                weight_bytes=chance.randint(1, 3),
                weight_gradient_bytes=chance.randint(1, 6),
                optimizer_state_bytes=0,
                update_ns=chance.randint(3, 12),
                host_update_ns=chance.randint(0, 1),
            )
            for stage in chain
        )
        problem = TrainingChain(replace(chain, stages=stages), "100%", "1GB/s")
        more = replace(problem, memory=problem.memory_bytes + chance.randint(1, 8))
        least = solve_with(problem, "exact", OPTIONS).time_ns
        # A bound above it would be a contradiction.
        found = solve_with(more, "exact", OPTIONS)
        cycle = solve_with(more, "cycle", OPTIONS).lower_bound_ns
        assert found.time_ns is not None
        assert cycle is not None
        assert least is not None
        assert cycle <= found.time_ns <= least, seed
        faster += found.time_ns < least
    assert faster


def test_a_long_chain_is_declined_with_what_to_use() -> None:
    chain = random_training_chain(random.Random(25), 7)
    outcome = solve_training_exactly(TrainingChain(chain, "100%", "1GB/s"), OPTIONS)
    assert outcome.termination is Termination.MEMORY_LIMIT
    assert outcome.schedule is None
    assert outcome.note is not None
    assert "use local-search" in outcome.note


def test_too_many_states_leave_the_local_searchs_schedule_and_its_bounds() -> None:
    chance = random.Random(26)
    limited = 0
    for _ in range(6):
        problem = drawn(chance, random_training_chain(chance, 2))
        few = TrainingExactParams(most_states=20)
        outcome = solve_training_exactly(problem, OPTIONS, few)
        if outcome.termination is not Termination.MEMORY_LIMIT:
            continue
        limited += 1
        exact = solve_training_exactly(problem, OPTIONS)
        proved = max((bound.time_ns for bound in exact.bounds), default=None)
        assert proved is None or all(bound.time_ns <= proved for bound in outcome.bounds)
        assert outcome.infeasibility is None
    assert limited


def test_the_time_limit_ends_it_with_a_bound() -> None:
    chance = random.Random(27)
    problem = drawn(chance, random_training_chain(chance, 5))
    outcome = solve_training_exactly(problem, SolveOptions(time_limit_s=0.05))
    assert outcome.infeasibility is not None or outcome.bounds


def test_where_directions_share_the_link_its_bound_holds() -> None:
    chance = random.Random(28)
    compared = 0
    for seed in range(6):
        problem = tiny_problem(chance)
        shared = replace(problem, bandwidth="1GB/s:half-duplex")
        found = solve_with(shared, "exact", OPTIONS)
        free = solve_with(problem, "exact", OPTIONS)
        # What was searched is the full-duplex link, of which the replay accepts what fits both.
        assert (found.infeasibility is None) == (free.infeasibility is None), seed
        if found.infeasibility is None:
            assert found.lower_bound_ns is not None
            assert free.time_ns is not None
            assert found.lower_bound_ns >= free.time_ns, seed
            assert found.time_ns is None or found.time_ns >= found.lower_bound_ns, seed
            compared += 1
    assert compared > 1


def test_weights_of_small_gradients_do_not_count_in_full() -> None:
    # The host updates the stage: two bytes of gradient go down, and the weights come in place of
    # the old ones. As weight offloading, 8 bytes would have to leave and to come back.
    posed = weights_alone(random.Random(29), 3)
    small = tuple(
        replace(stage, weight_bytes=8, weight_gradient_bytes=1, host_update_ns=0)
        for stage in posed.instance
    )
    chain = replace(posed.instance, stages=small)
    wrong = WeightOffload(chain, "60%", 10**9)
    problem = TrainingChain(chain, wrong.memory_bytes, 10**9)
    exact = solve_with(problem, "exact", OPTIONS)
    assert exact.time_ns is not None
    as_it_is = solve_with(wrong, "agg", OPTIONS).lower_bound_ns
    changed = solve_with(problem, "weights-bound", OPTIONS).lower_bound_ns
    assert as_it_is is not None
    assert changed is not None
    assert changed <= exact.time_ns < as_it_is
