"""Duties of every method, tried on every named tiny instance, in every size of memory.

`make quick` tries every third size, and the largest.

More memory never hurts a method whose answer in less memory is one of those that it compares, or
would still come out: an exact one, and one that tries a fixed list of schedules. A method that
makes another plan for another memory promises nothing of the kind; those are named below.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any

import pytest

from jettison.instances.core.link import Transfers
from jettison.instances.multi_model.instance import MultiModel
from jettison.instances.multi_model.problem import MultiModelTraining
from jettison.instances.pipeline_chain.problem import PipelineChain
from jettison.instances.remat_arena.problem import RematArena
from jettison.instances.remat_chain.chain import Chain
from jettison.instances.remat_chain.problem import RematChain
from jettison.instances.remat_graph.graph import Graph
from jettison.instances.remat_graph.problem import RematGraph
from jettison.instances.remat_offload.problem import RematOffloadChain
from jettison.instances.remat_offload_graph.problem import RematOffloadGraph
from jettison.instances.remat_sharding.chosen_strategies import with_strategies
from jettison.instances.remat_sharding.problem import RematSharding
from jettison.instances.remat_sharding.sharded_graph import ShardedGraph
from jettison.instances.sharding.problem import Sharding
from jettison.instances.sharding.strategy_graph import StrategyGraph
from jettison.instances.training_chain.problem import TrainingChain
from jettison.instances.weight_offload.cycle import WeightCycle
from jettison.instances.weight_offload.problem import WeightOffload
from jettison.schedules.remat_graph.saved_or_once import boundary_of
from jettison.solvers.core.method import Method, Promise
from jettison.solvers.core.outcome import SolveOptions
from jettison.solvers.core.problem import Problem
from jettison.solvers.core.registry import methods_of
from jettison.solvers.core.result import Result
from jettison.solvers.core.solve import compare_with, solve_with
from jettison.solvers.core.status import Termination
from tests.each import Tier
from tests.remat_sharding.tiny_sharded import SHARDED_GRAPHS
from tests.tiny import CHAINS, GRAPHS, STRATEGY_GRAPHS, TRAINED_CHAINS, WEIGHT_CHAINS
from tests.tiny_models import MULTI_MODELS

Instance = Chain | Graph | ShardedGraph | StrategyGraph | MultiModel
EXACT = SolveOptions(time_limit_s=20, gap=0)
# Their defaults use all their time where no bound is met, and end by themselves without a limit.
OPTIONS = dict.fromkeys(
    ("weight-offload", "training-chain"), SolveOptions(time_limit_s=None, gap=0)
)
INSTANCES: dict[str, Sequence[Instance]] = {
    "remat-chain": CHAINS,
    "remat-offload-chain": CHAINS,
    "weight-offload": WEIGHT_CHAINS,
    "training-chain": TRAINED_CHAINS,
    "remat-graph": GRAPHS,
    "remat-offload-graph": GRAPHS,
    "remat-arena": GRAPHS,
    "remat-sharding": SHARDED_GRAPHS,
    "sharding": STRATEGY_GRAPHS,
    "multi-model": MULTI_MODELS,
    "pipeline-chain": WEIGHT_CHAINS,
}
# Bytes per second: of the tiny instances a byte per 4 ns, and 2 bytes per ns.
BANDWIDTHS = (250_000_000, 2_000_000_000)
# Where transfers of a step take longer than its operations, its exact search takes long.
TRAINING_BANDWIDTHS = (10**9, 2 * 10**9)
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
    # How early its transfers start, and with them all that follows, depends on the memory.
    *(
        ("training-chain", method.name)
        for method in methods_of("training-chain")
        if method.promise is not Promise.BOUND
    ),
    # What it evicts, and with it all that follows, depends on the memory.
    ("remat-graph", "dtr"),
    ("remat-graph", "dtr-eq"),
    ("remat-graph", "dtr-local"),
    # What it computes again, and with it all that follows, depends on the memory.
    ("remat-graph", "xla-greedy"),
    # What is planned next depends on which plans fit with their addresses.
    ("remat-arena", "replan"),
    ("remat-arena", "replan-anneal"),
    ("remat-arena", "replan-orders"),
    ("remat-arena", "best-fit"),
    ("remat-arena", "order-and-place"),
    # Another relaxation is rounded for another memory.
    ("remat-graph", "lp-rounding"),
    # Their random changes depend on the memory.
    ("remat-graph", "anneal"),
    ("remat-graph", "orders"),
    # What makes room for others, and with it all that follows, depends on the memory.
    *(
        ("remat-offload-graph", name)
        for name in ("anneal", "no-recompute", "greedy", "autocapper", "poet")
    ),
    ("remat-graph", "any-order"),
    # Changes of its options depend on the memory.
    ("remat-graph", "partitioned"),
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
    # A lesser bottleneck is no promise for the step; and other cuts have it in more memory.
    ("pipeline-chain", "bottleneck"),
    ("pipeline-chain", "equal-time"),
    ("pipeline-chain", "equal-memory"),
    ("pipeline-chain", "pipedream"),
    ("pipeline-chain", "megatron-full"),
    ("pipeline-chain", "gpipe-recompute"),
}
# Their schedules may be faster than the best in the order of the graph.
IN_OTHER_ORDERS = {
    ("remat-graph", "orders"),
    ("remat-graph", "any-order"),
    ("remat-graph", "least-peak-order"),
    ("remat-graph", "tree-width"),
    ("remat-graph", "partitioned"),
    ("remat-graph", "checkmate-unpartitioned"),
    ("remat-graph", "xla-greedy"),
}

KINDS = [
    pytest.param(kind, instance, id=f"{kind}-{instance.name}")
    for kind, instances in INSTANCES.items()
    for instance in instances
]


def problems(kind: str, instance: Instance) -> list[list[Problem]]:
    """The instance in five to nine sizes of memory, from nothing to plenty, on every link."""
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
    if kind == PipelineChain.problem:
        assert isinstance(instance, Chain)
        peak = 2 * WeightCycle(instance).no_offload_peak_bytes
        sizes = [0, *range(peak // 6, peak + 1, max(peak // 12, 1)), 2 * peak]
        devices = min(2, len(instance))
        families: list[list[Problem]] = [
            [PipelineChain(instance, size, devices, 3, bandwidth) for size in sizes]
            for bandwidth in (None, *BANDWIDTHS)
        ]
        if len(instance) >= 4:
            # Two pieces of the chain for each device, interleaved.
            families.append([PipelineChain(instance, size, 2, 4, None, chunks=2) for size in sizes])
        return families
    if kind == WeightOffload.problem:
        assert isinstance(instance, Chain)
        peak = WeightCycle(instance).no_offload_peak_bytes
    if kind == TrainingChain.problem:
        assert isinstance(instance, Chain)
        peak = TrainingChain(instance, "100%", BANDWIDTHS[0]).memory_bytes
        sizes = sorted({0, *range(peak // 3, peak + 1, max(peak // 4, 1)), peak})
        return [
            [TrainingChain(instance, size, bandwidth) for size in sizes]
            for bandwidth in TRAINING_BANDWIDTHS
        ]
    # With links there are twice or four times as many problems.
    parts = 6 if kind in {WeightOffload.problem, RematOffloadChain.problem} else 12
    sizes = sorted({0, *range(peak // 2, peak + 1, max(peak // parts, 1)), peak, 2 * peak})
    if isinstance(instance, StrategyGraph):
        return [[Sharding(instance, size) for size in sizes]]
    if kind == RematOffloadGraph.problem:
        assert isinstance(instance, Graph)
        return [
            [RematOffloadGraph(instance, size, bandwidth) for size in sizes[::2]]
            for bandwidth in (None, *BANDWIDTHS)
        ]
    if kind == RematArena.problem:
        assert isinstance(instance, Graph)
        return [[RematArena(instance, size) for size in sizes]]
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


@pytest.mark.every_case
@pytest.mark.parametrize(("kind", "instance"), KINDS)
def test_every_method_keeps_its_promises(
    kind: str, instance: Instance, subtests: pytest.Subtests
) -> None:
    # One test for an instance, for its problems are solved once, and tests may be spread over
    # processes.
    families = problems(kind, instance)
    if Tier.first_only:
        families = [[*family[:-1:3], family[-1]] for family in families]
    solved = {
        method: [
            [solve_with(problem, method.name, OPTIONS.get(kind, EXACT)) for problem in family]
            for family in families
        ]
        for method in methods_of(kind)
    }
    for method, found in solved.items():
        with subtests.test("schedules fit and bounds hold", method=method.name):
            check_schedules_and_bounds(method, chain.from_iterable(found))
        if method.promise is not Promise.BOUND and (kind, method.name) not in MAKES_ANOTHER_PLAN:
            with subtests.test("more memory never hurts", method=method.name):
                check_that_more_memory_never_hurts(found)
        if method.promise.startswith("exact"):
            with subtests.test("the gap is closed, or nothing fits", method=method.name):
                check_that_it_is_exact(
                    method, (result for family in found for result in family if is_plain(result))
                )
        # With strategies, what is best for a node may not be for its edges, in any memory; a
        # pipeline fills and drains, and an optimizer updates or moves the weights in any memory.
        if kind not in {Sharding.problem, PipelineChain.problem, TrainingChain.problem}:
            with subtests.test("in plenty of memory nothing is recomputed", method=method.name):
                check_answers_in_plenty_of_memory(method, [family[-1] for family in found])
    with subtests.test("no bound of any method contradicts a schedule of another"):
        for results in zip(*map(chain.from_iterable, solved.values()), strict=True):
            check_together(results)
        plenty = families[-1][-1]
        compared = compare_with(plenty, None, OPTIONS.get(kind, EXACT))
        assert [item.method for item in compared] == [item.name for item in methods_of(kind)]


def check_schedules_and_bounds(method: Method[Any], results: Iterable[Result]) -> None:
    for result in results:
        assert result.method == method.name
        is_refused = result.termination is Termination.NOT_APPLICABLE
        assert is_refused or result.termination.is_regular
        assert not is_refused or (result.note and result.infeasibility is None)
        if result.schedule is None:
            continue
        assert result.replay is not None
        assert result.replay.valid
        assert result.peak_bytes is not None
        assert result.peak_bytes <= result.problem.memory_bytes
        assert result.time_ns is not None
        assert result.lower_bound_ns is not None
        assert result.problem.base_time_ns <= result.lower_bound_ns <= result.time_ns


def check_that_more_memory_never_hurts(families: Iterable[Sequence[Result]]) -> None:
    for family in families:
        times = [result.time_ns for result in family]
        found = [time_ns for time_ns in times if time_ns is not None]
        assert times == [None] * (len(times) - len(found)) + sorted(found, reverse=True)


def check_that_it_is_exact(method: Method[Any], results: Iterable[Result]) -> None:
    suffix = method.promise.removeprefix("exact")
    least_problems: set[Problem] = set()
    for result in results:
        if method.promise is Promise.EXACT_SAVED_OR_ONCE and not has_passes(result.problem):
            assert result.status in {"optimal", "infeasible", "not-applicable"}
            continue
        assert result.status in {
            "optimal",
            "infeasible",
            f"optimal{suffix}",
            f"infeasible{suffix}",
            # A bound for all schedules in the order of the graph holds for staged ones.
            *(["optimal-in-order"] if method.promise is Promise.EXACT_STAGED else []),
            # So does what single operators need beside the parameters before them.
            *(["infeasible-in-order"] if result.problem.problem == RematSharding.problem else []),
        }
        if result.infeasibility is not None and result.infeasibility.is_exact:
            least = result.infeasibility.least_memory_bytes
            assert result.problem.memory_bytes < least
            least_problems.add(replace(result.problem, memory=least))
    for enough in least_problems:
        assert solve_with(enough, method.name, EXACT).peak_bytes == enough.memory_bytes


def is_plain(result: Result) -> bool:
    """Tell whether it is no result of an interleaved pipeline, for which exact is a bracket."""
    return not isinstance(result.problem, PipelineChain) or result.problem.chunks == 1


def has_passes(problem: Problem) -> bool:
    """Tell whether a graph has backward nodes that are marked, behind all others."""
    return isinstance(problem, RematGraph) and boundary_of(problem.instance) is not None


def check_answers_in_plenty_of_memory(method: Method[Any], results: Iterable[Result]) -> None:
    if method.promise.startswith("exact") or method.name == "store-all":
        for result in results:
            assert result.time_ns == result.problem.base_time_ns
            assert result.status == "optimal"


def check_together(results: Sequence[Result]) -> None:
    """Check what all methods say of one problem; the first of them is its default."""
    kind = results[0].problem.problem
    bounds = tuple(bound for result in results for bound in result.bounds)
    default, *_ = methods = methods_of(kind)
    for method, result in zip(methods, results, strict=True):
        if method.promise is not Promise.BOUND:
            # A contradiction raises.
            result.with_bounds(bounds)
    if default.promise.startswith("exact"):
        best = min(
            (
                item.time_ns
                for item in results
                if item.time_ns is not None and (kind, item.method) not in IN_OTHER_ORDERS
            ),
            default=None,
        )
        assert results[0].time_ns == best
