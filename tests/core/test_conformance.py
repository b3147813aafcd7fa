"""What every method owes: each is tried on every named tiny instance, in every size of memory.

More memory never hurts a method whose answer in less memory is one of those that it compares, or
would still come out: an exact one, and one that tries a fixed list of schedules. A method that
makes another plan for another memory promises nothing of the kind; those are named below.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache
from itertools import chain

import pytest

from jettison.instances.multi_model.instance import MultiModel
from jettison.instances.multi_model.problem import MultiModelTraining
from jettison.instances.remat_chain.chain import Chain
from jettison.instances.remat_chain.problem import RematChain
from jettison.instances.remat_graph.graph import Graph
from jettison.instances.remat_graph.problem import RematGraph
from jettison.instances.remat_offload.problem import RematOffloadChain, Transfers
from jettison.instances.remat_sharding.chosen_strategies import with_strategies
from jettison.instances.remat_sharding.problem import RematSharding
from jettison.instances.remat_sharding.sharded_graph import ShardedGraph
from jettison.instances.sharding.problem import Sharding
from jettison.instances.sharding.strategy_graph import StrategyGraph
from jettison.instances.weight_offload.cycle import WeightCycle
from jettison.instances.weight_offload.problem import WeightOffload
from jettison.solvers.core.method import Method, Promise
from jettison.solvers.core.outcome import Problem, SolveOptions
from jettison.solvers.core.registry import METHODS, methods_of
from jettison.solvers.core.result import Result, base_time_of
from jettison.solvers.core.solve import compare_with, solve_with
from tests.remat_sharding.tiny_sharded import SHARDED_GRAPHS
from tests.tiny import CHAINS, GRAPHS, STRATEGY_GRAPHS, WEIGHT_CHAINS
from tests.tiny_models import MULTI_MODELS

Instance = Chain | Graph | ShardedGraph | StrategyGraph | MultiModel
EXACT = SolveOptions(time_limit_s=20, gap=0)
INSTANCES: dict[str, Sequence[Instance]] = {
    "remat-chain": CHAINS,
    "remat-offload-chain": CHAINS,
    "weight-offload": WEIGHT_CHAINS,
    "remat-graph": GRAPHS,
    "remat-sharding": SHARDED_GRAPHS,
    "sharding": STRATEGY_GRAPHS,
    "multi-model": MULTI_MODELS,
}
# Bytes per second: of the tiny instances a byte per 4 ns, and 2 bytes per ns.
BANDWIDTHS = (250_000_000, 2_000_000_000)
MAKES_ANOTHER_PLAN = {
    # With more memory fewer stages, and other ones, are offloaded.
    ("remat-offload-chain", "opportunist"),
    # Its 40 sizes of memory, and with them its sequences, depend on the memory.
    ("remat-offload-chain", "autocapper"),
    # With transfers at once their plans, which are optimal in another model, are timed anew.
    ("remat-offload-chain", "pofo"),
    ("remat-offload-chain", "offload-only"),
    # Their selections, which ignore the times of transfers, depend on the memory.
    ("weight-offload", "greedy"),
    ("weight-offload", "greedy-no-discount"),
    ("weight-offload", "margin-sweep"),
    ("weight-offload", "local-search"),
    ("weight-offload", "bound-guided"),
    # What it evicts, and with it all that follows, depends on the memory.
    ("remat-graph", "dtr"),
    ("remat-graph", "dtr-eq"),
    ("remat-graph", "dtr-local"),
    # Another relaxation is rounded for another memory.
    ("remat-graph", "lp-rounding"),
    # Their random changes depend on the memory.
    ("remat-graph", "anneal"),
    ("remat-graph", "orders"),
    # Their moves, and what the bound suggests, depend on the memory.
    ("sharding", "local-search"),
    ("sharding", "greedy"),
    # What the policy swaps and recomputes depends on the memory, and so do their changes.
    ("multi-model", "mu-two"),
    ("multi-model", "mu-two-both-ways"),
    ("multi-model", "hfta-capuchin"),
    ("multi-model", "hfta-both-ways"),
    ("multi-model", "capuchin"),
    ("multi-model", "swap-only"),
    ("multi-model", "recompute-only"),
    ("multi-model", "local-search"),
    # Larger groups need not be faster than more of them.
    ("multi-model", "hfta"),
}
# Its schedules may be faster than the best in the order of the graph.
IN_OTHER_ORDERS = {("remat-graph", "orders")}

CASES = [
    pytest.param(method, instance, id=f"{method.problem}-{method.name}-{instance.name}")
    for method in METHODS
    for instance in INSTANCES[method.problem]
]

EXACT_CASES = [
    case
    for case in CASES
    if isinstance(method := case.values[0], Method) and method.promise.startswith("exact")
]

KINDS = [
    pytest.param(kind, instance, id=f"{kind}-{instance.name}")
    for kind, instances in INSTANCES.items()
    for instance in instances
]


def problems(kind: str, instance: Instance) -> list[list[Problem]]:
    """The instance in about eight sizes of memory, from nothing to plenty, on every link."""
    if isinstance(instance, ShardedGraph):
        fastest = with_strategies(instance, instance.fastest).store_all_peak_bytes
        # Every size where memory binds, and a few where only rules that waste it feel it.
        plenty = range(fastest, 2 * fastest + 1, max(fastest // 4, 1))
        sizes = sorted({0, *range(fastest // 2, fastest + 1), *plenty})
        return [[RematSharding(instance, size) for size in sizes]]
    if isinstance(instance, MultiModel):
        fused = instance.sub_array(instance.sizes[-1]).store_all_peak_bytes
        sizes = [0, *range(fused // 4, fused + 1, max(fused // 8, 1)), 2 * fused]
        return [
            [MultiModelTraining(instance, size, bandwidth) for size in sizes]
            for bandwidth in BANDWIDTHS
        ]
    peak = instance.store_all_peak_bytes
    if kind == WeightOffload.problem:
        assert isinstance(instance, Chain)
        peak = WeightCycle(instance).no_offload_peak_bytes
    sizes = sorted({0, *range(peak // 2, peak + 1, max(peak // 12, 1)), peak, 2 * peak})
    if isinstance(instance, StrategyGraph):
        return [[Sharding(instance, size) for size in sizes]]
    if isinstance(instance, Graph):
        return [[RematGraph(instance, size) for size in sizes]]
    if kind == RematChain.problem:
        return [[RematChain(instance, size) for size in sizes]]
    if kind == WeightOffload.problem:
        return [
            [WeightOffload(instance, size, bandwidth) for size in sizes] for bandwidth in BANDWIDTHS
        ]
    return [
        [RematOffloadChain(instance, size, bandwidth, transfers) for size in sizes]
        for bandwidth in BANDWIDTHS
        for transfers in Transfers
    ]


def all_problems(kind: str, instance: Instance) -> Iterator[Problem]:
    """The same in one list."""
    for family in problems(kind, instance):
        yield from family


@cache
def solved(method: Method, instance: Instance) -> list[list[Result]]:
    """What the method finds for every problem, once for all tests in this process."""
    return [
        [solve_with(problem, method.name, EXACT) for problem in family]
        for family in problems(method.problem, instance)
    ]


@pytest.mark.parametrize(("method", "instance"), CASES)
def test_schedules_fit_and_bounds_hold(method: Method, instance: Instance) -> None:
    for result in chain.from_iterable(solved(method, instance)):
        assert result.method == method.name
        assert result.termination.is_regular
        if result.schedule is None:
            continue
        assert result.replay is not None
        assert result.replay.valid
        assert result.peak_bytes is not None
        assert result.peak_bytes <= result.problem.memory_bytes
        assert result.time_ns is not None
        assert result.lower_bound_ns is not None
        assert base_time_of(result.problem) <= result.lower_bound_ns <= result.time_ns


@pytest.mark.parametrize(
    ("method", "instance"),
    [
        case
        for case in CASES
        if isinstance(method := case.values[0], Method)
        and method.promise is not Promise.BOUND
        and (method.problem, method.name) not in MAKES_ANOTHER_PLAN
    ],
)
def test_more_memory_never_hurts(method: Method, instance: Instance) -> None:
    for family in solved(method, instance):
        times = [result.time_ns for result in family]
        found = [time_ns for time_ns in times if time_ns is not None]
        assert times == [None] * (len(times) - len(found)) + sorted(found, reverse=True)


@pytest.mark.parametrize(("method", "instance"), EXACT_CASES)
def test_exact_methods_close_the_gap_or_prove_that_nothing_fits(
    method: Method, instance: Instance
) -> None:
    suffix = method.promise.removeprefix("exact")
    for result in chain.from_iterable(solved(method, instance)):
        assert result.status in {
            "optimal",
            "infeasible",
            f"optimal{suffix}",
            f"infeasible{suffix}",
            # A bound for all schedules in the order of the graph holds for staged ones.
            *(["optimal-in-order"] if method.promise is Promise.EXACT_STAGED else []),
            # So does what single operators need beside the parameters before them.
            *(["infeasible-in-order"] if method.problem == RematSharding.problem else []),
        }
        if result.infeasibility is not None and result.infeasibility.is_exact:
            least = result.infeasibility.least_memory_bytes
            assert result.problem.memory_bytes < least
            enough = replace(result.problem, memory=least)
            assert solve_with(enough, method.name, EXACT).peak_bytes == least


@pytest.mark.parametrize(("kind", "instance"), KINDS)
def test_no_bound_of_any_method_contradicts_a_schedule_of_another(
    kind: str, instance: Instance
) -> None:
    default = methods_of(kind)[0]
    for problem in all_problems(kind, instance):
        # A contradiction raises: every result is judged against the bounds of all methods.
        results = compare_with(problem, None, EXACT)
        assert len(results) == len(methods_of(problem.problem))
        if default.promise.startswith("exact"):
            times = (
                item.time_ns
                for item in results
                if item.time_ns is not None and (kind, item.method) not in IN_OTHER_ORDERS
            )
            best = min(times, default=None)
            assert next(item for item in results if item.method == default.name).time_ns == best


@pytest.mark.parametrize(
    # With strategies, what is best for a node may not be for its edges, in any memory.
    ("kind", "instance"),
    [case for case in KINDS if case.values[0] != Sharding.problem],
)
def test_in_plenty_of_memory_nothing_is_recomputed(kind: str, instance: Instance) -> None:
    for *_, problem in problems(kind, instance):
        for method in methods_of(kind):
            result = solve_with(problem, method.name, EXACT)
            if method.promise.startswith("exact") or method.name == "store-all":
                assert result.time_ns == base_time_of(problem)
                assert result.status == "optimal"
