"""What every method owes: each is tried on every named tiny instance, in every size of memory."""

from __future__ import annotations

import pytest

from jettison.instances.chain import Chain
from jettison.instances.graph import Graph
from jettison.instances.remat_chain import RematChain
from jettison.instances.remat_graph import RematGraph
from jettison.instances.remat_offload_chain import RematOffloadChain
from jettison.solvers.methods import METHODS, Method, Promise, methods_of
from jettison.solvers.outcome import Problem, SolveOptions
from jettison.solvers.solve import compare_with, solve_with
from tests.tiny import CHAINS, GRAPHS

EXACT = SolveOptions(time_limit_s=20, gap=0)
CASES = [
    pytest.param(method, instance, id=f"{method.problem}-{method.name}-{instance.name}")
    for method in METHODS
    for instance in (GRAPHS if method.problem == "remat-graph" else CHAINS)
]

EXACT_CASES = [
    case
    for case in CASES
    if isinstance(method := case.values[0], Method) and method.promise.startswith("exact")
]


def problems(instance: Chain | Graph, problem: str | None = None) -> list[Problem]:
    """The instance in about eight sizes of memory, from nothing to plenty."""
    peak = instance.store_all_peak_bytes
    sizes = sorted({0, *range(peak // 2, peak + 1, max(peak // 12, 1)), peak, 2 * peak})
    if isinstance(instance, Chain) and problem == RematOffloadChain.problem:
        return [RematOffloadChain(instance, size, 10**9) for size in sizes]
    if isinstance(instance, Chain):
        return [RematChain(instance, size) for size in sizes]
    return [RematGraph(instance, size) for size in sizes]


@pytest.mark.parametrize(("method", "instance"), CASES)
def test_schedules_fit_bounds_hold_and_more_memory_never_hurts(
    method: Method, instance: Chain | Graph
) -> None:
    previous_ns: int | None = None
    for problem in problems(instance, method.problem):
        result = solve_with(problem, method.name, EXACT)
        assert result.method == method.name
        assert result.termination.is_regular
        if result.schedule is None:
            if method.promise is not Promise.BOUND:
                assert previous_ns is None, "a schedule that fits in less memory still fits"
            continue
        assert result.replay is not None
        assert result.replay.valid
        assert result.peak_bytes is not None
        assert result.peak_bytes <= problem.memory_bytes
        assert result.time_ns is not None
        assert result.lower_bound_ns is not None
        assert instance.base_time_ns <= result.lower_bound_ns <= result.time_ns
        if previous_ns is not None:
            assert result.time_ns <= previous_ns
        previous_ns = result.time_ns


@pytest.mark.parametrize(("method", "instance"), EXACT_CASES)
def test_exact_methods_close_the_gap_or_prove_that_nothing_fits(
    method: Method, instance: Chain | Graph
) -> None:
    suffix = method.promise.removeprefix("exact")
    for problem in problems(instance):
        result = solve_with(problem, method.name, EXACT)
        assert result.status in {
            "optimal",
            "infeasible",
            f"optimal{suffix}",
            f"infeasible{suffix}",
        }
        if result.infeasibility is not None and result.infeasibility.is_exact:
            least = result.infeasibility.least_memory_bytes
            assert problem.memory_bytes < least
            enough = type(problem)(instance, least)  # type: ignore[arg-type]
            assert solve_with(enough, method.name, EXACT).peak_bytes == least


@pytest.mark.parametrize("instance", [*CHAINS, *GRAPHS], ids=lambda instance: instance.name)
def test_no_bound_of_any_method_contradicts_a_schedule_of_another(instance: Chain | Graph) -> None:
    for problem in problems(instance):
        # A contradiction raises: every result is judged against the bounds of all methods.
        results = compare_with(problem, None, EXACT)
        assert len(results) == len(methods_of(problem.problem))
        best = min((item.time_ns for item in results if item.time_ns is not None), default=None)
        exact = next(item for item in results if item.method == methods_of(problem.problem)[0].name)
        assert exact.time_ns == best


@pytest.mark.parametrize("instance", [*CHAINS, *GRAPHS], ids=lambda instance: instance.name)
def test_in_plenty_of_memory_nothing_is_recomputed(instance: Chain | Graph) -> None:
    problem = problems(instance)[-1]
    for method in methods_of(problem.problem):
        result = solve_with(problem, method.name, EXACT)
        if method.promise.startswith("exact") or method.name == "store-all":
            assert result.time_ns == instance.base_time_ns
            assert result.status == "optimal"
