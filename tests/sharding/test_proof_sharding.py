"""Certificates of bounds on sharding: as large as the model's, never above the truth."""

from __future__ import annotations

from dataclasses import replace

from jettison import Bound, RematSharding, ScheduleClass, Sharding
from jettison.solvers.core.bound import Evidence
from jettison.solvers.core.outcome import Infeasibility, SolveOptions
from jettison.solvers.remat_sharding.certifier import certify_remat_sharding
from jettison.solvers.remat_sharding.kiwi.reduced import solve_kiwi_reduced
from jettison.solvers.sharding.certifier import certify_sharding
from jettison.solvers.sharding.exact.method import solve_sharding_exact
from tests.each import each
from tests.remat_sharding.oracles.brute_force import best_reduced_plan
from tests.remat_sharding.samples import training_steps
from tests.remat_sharding.tiny_sharded import LAYERS
from tests.sharding.oracles.strategy_brute_force import least_cost, least_peak, random_graph

OPTIONS = SolveOptions(time_limit_s=20, gap=0)


def bound(time_ns: int, valid_for: ScheduleClass) -> Bound:
    return Bound(time_ns=time_ns, valid_for=valid_for, evidence=Evidence.SOLVER, method="known")


def test_the_best_plan_of_the_reduced_problem_is_certified() -> None:
    certified = refused = 0
    for problem in training_steps(seed=301, count=25):
        outcome = solve_kiwi_reduced(problem, OPTIONS)
        certificate = certify_remat_sharding(
            problem, outcome.bounds, outcome.infeasibility, OPTIONS
        )
        plan = best_reduced_plan(problem.instance, problem.memory_bytes)
        if plan is None:
            refused += 1
            # What the reduced problem's model refutes, and what single operators need.
            assert outcome.infeasibility is not None
            assert certificate is not None
            assert certificate.valid_for is outcome.infeasibility.valid_for
            assert certificate.time_ns is None
            continue
        assert certificate is not None
        assert certificate.time_ns == plan.time_ns
        assert certificate.checked().claim.instance_sha256 == problem.instance.sha256
        certified += certificate.valid_for is ScheduleClass.KIWI_REDUCED
    assert certified >= 5
    assert refused >= 2


def test_a_time_above_the_best_plan_is_never_certified() -> None:
    for problem in training_steps(seed=302, count=12):
        plan = best_reduced_plan(problem.instance, problem.memory_bytes)
        if plan is None:
            continue
        wrong = [bound(plan.time_ns + 5, ScheduleClass.KIWI_REDUCED)]
        certificate = certify_remat_sharding(problem, wrong, None, OPTIONS)
        assert certificate is not None
        assert certificate.time_ns is not None
        assert certificate.time_ns <= plan.time_ns


def test_bounds_for_all_schedules_are_proved_by_the_fastest_strategies() -> None:
    # 4 + 1 + 3 + 1 + 4 ns for the first strategies, between which nothing is resharded.
    problem = RematSharding(LAYERS, 40)
    certificate = certify_remat_sharding(problem, [bound(13, ScheduleClass.ALL)], None, OPTIONS)
    assert certificate is not None
    assert (certificate.time_ns, certificate.valid_for) == (13, ScheduleClass.ALL)


def test_without_a_bound_there_is_no_certificate() -> None:
    problem = RematSharding(LAYERS, 40)
    assert certify_remat_sharding(problem, [], None, OPTIONS) is None
    staged = Infeasibility(valid_for=ScheduleClass.STAGED, least_memory_bytes=9, is_exact=False)
    assert certify_remat_sharding(problem, [], staged, OPTIONS) is None
    assert certify_sharding(Sharding(random_graph(0), 9), [], None, OPTIONS) is None


@each(seed=range(12))
def test_the_cheapest_choice_is_certified_and_so_is_that_nothing_fits(seed: int) -> None:
    graph = random_graph(seed, unit=1000)
    least = least_peak(graph) or 0
    for memory in {least, least + 3, max(0, least - 1)}:
        problem = Sharding(graph, memory)
        outcome = solve_sharding_exact(problem, OPTIONS)
        certificate = certify_sharding(problem, outcome.bounds, outcome.infeasibility, OPTIONS)
        assert certificate is not None
        assert certificate.time_ns == least_cost(graph, memory)
        if certificate.time_ns is not None:
            # A larger bound, if a solver believed in one, is not certified.
            wrong = [replace(item, time_ns=item.time_ns + 1) for item in outcome.bounds]
            lower = certify_sharding(problem, wrong, None, OPTIONS)
            assert lower is not None
            assert lower.time_ns == certificate.time_ns
