"""From words to a problem: an instance, and resources as somebody typed them."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, replace

from jettison.instances.catalog import Instance
from jettison.instances.core.errors import InputError
from jettison.instances.core.names import suggestion
from jettison.instances.multi_model.instance import MultiModel
from jettison.instances.multi_model.problem import MultiModelTraining
from jettison.instances.remat_chain.chain import Chain
from jettison.instances.remat_chain.problem import RematChain
from jettison.instances.remat_graph.chain_to_graph import chain_to_graph, graph_memory_bytes
from jettison.instances.remat_graph.graph import Graph
from jettison.instances.remat_graph.problem import RematGraph
from jettison.instances.remat_offload.problem import RematOffloadChain, Transfers
from jettison.instances.remat_sharding.problem import RematSharding
from jettison.instances.remat_sharding.sharded_graph import ShardedGraph
from jettison.instances.sharding.problem import Sharding
from jettison.instances.sharding.strategy_graph import StrategyGraph
from jettison.instances.three_partition.instance import ThreePartition
from jettison.instances.weight_offload.problem import WeightOffload
from jettison.solvers.core.outcome import Problem
from jettison.solvers.core.registry import PROBLEMS

_LINKED = (RematOffloadChain.problem, WeightOffload.problem)


@dataclass(frozen=True, slots=True)
class Resources:
    """What is said of memory and of the link, as it was typed; None where nothing is.

    Attributes
    ----------
    memory, alpha
        One of the two says how much memory there is.
    bandwidth, transfers
        The link, for problems that have one.
    models
        How many of the models of an instance are trained.
    """

    memory: str | None
    alpha: str | None = None
    bandwidth: str | None = None
    transfers: Transfers | None = None
    models: int | None = None

    @property
    def memory_text(self) -> str:
        """How much memory there is.

        Raises
        ------
        InputError
            If nothing says so, or both options do.
        """
        if self.memory is not None and self.alpha is None:
            return self.memory
        if self.alpha is not None and self.memory is None:
            return f"alpha={self.alpha}"
        given = "nothing says how much" if self.memory is None else "--memory and --alpha both say"
        raise InputError(given, field="memory", expected="write --memory 40% or --alpha 0.2")

    def each(self) -> Iterator[Resources]:
        """Take lists apart: one for every memory, and for every bandwidth."""
        memories = [None] if self.memory is None else self.memory.split(",")
        alphas = [None] if self.alpha is None else self.alpha.split(",")
        bandwidths = [None] if self.bandwidth is None else self.bandwidth.split(",")
        for memory, alpha, bandwidth in itertools.product(memories, alphas, bandwidths):
            yield replace(self, memory=memory, alpha=alpha, bandwidth=bandwidth)


def check_problem_name(problem: str) -> None:
    """Check that there is a problem of this name.

    Raises
    ------
    InputError
        If there is none.
    """
    if problem not in PROBLEMS:
        raise InputError(
            f"{problem!r} is not a problem",
            field="PROBLEM",
            expected=f"{suggestion(problem, PROBLEMS)}choose one of {', '.join(PROBLEMS)}",
        )


def pose_problem(problem: str, loaded: Instance, resources: Resources) -> Problem:
    """Make the problem of an instance; a chain given to remat-graph becomes its graph.

    Raises
    ------
    InputError
        If the problem is unknown or not for such an instance, or the resources cannot be read or
        are not those of the problem.
    """
    check_problem_name(problem)
    if isinstance(loaded, ThreePartition):
        raise InputError(
            f"{loaded.name} is a 3-PARTITION",
            field="INSTANCE",
            expected="give a chain or a graph; see jettison generate weight-offload",
        )
    if problem == MultiModelTraining.problem or isinstance(loaded, MultiModel):
        return _make_multi_model(problem, loaded, resources)
    if resources.models is not None:
        raise InputError(
            f"{problem} trains one model",
            field="models",
            expected=f"leave it out, or use {MultiModelTraining.problem}",
        )
    if problem == Sharding.problem or isinstance(loaded, StrategyGraph):
        return _make_sharding(problem, loaded, resources)
    if isinstance(loaded, ShardedGraph) != (problem == RematSharding.problem):
        wanted = "a sharded graph" if problem == RematSharding.problem else "a chain or a graph"
        raise InputError(
            f"{loaded.name} is a {loaded.kind}",
            field="INSTANCE",
            expected=f"give {wanted} to {problem}",
        )
    memory = resources.memory_text
    if problem in _LINKED and resources.bandwidth is None:
        raise InputError(
            f"{problem} needs a link", field="bandwidth", expected="write --bandwidth 12GB/s"
        )
    if problem not in _LINKED and resources.bandwidth is not None:
        raise InputError(
            f"{problem} has no link",
            field="bandwidth",
            expected=f"use {' or '.join(_LINKED)}",
        )
    if problem == RematOffloadChain.problem:
        assert resources.bandwidth is not None
        transfers = resources.transfers or Transfers.AT_ONCE
        return RematOffloadChain(
            _expect_chain(loaded), memory, resources.bandwidth, transfers=transfers
        )
    if resources.transfers is not None:
        raise InputError(
            f"{problem} leaves nothing open about transfers",
            field="transfers",
            expected=f"leave it out, or use {RematOffloadChain.problem}",
        )
    if isinstance(loaded, ShardedGraph):
        return RematSharding(loaded, memory)
    if problem == WeightOffload.problem:
        assert resources.bandwidth is not None
        return WeightOffload(_expect_chain(loaded), memory, resources.bandwidth)
    if problem == RematChain.problem:
        return RematChain(_expect_chain(loaded), memory)
    if isinstance(loaded, Chain):
        limit = graph_memory_bytes(loaded, RematChain(loaded, memory).memory_bytes)
        return RematGraph(chain_to_graph(loaded), limit)
    return RematGraph(loaded, memory)


def _make_multi_model(
    problem: str,
    instance: Chain | Graph | ShardedGraph | StrategyGraph | MultiModel,
    resources: Resources,
) -> MultiModelTraining:
    """Make the problem; without --bandwidth, the link is that of the instance."""
    if not isinstance(instance, MultiModel) or problem != MultiModelTraining.problem:
        raise InputError(
            f"{instance.name} is a {instance.kind}",
            field="INSTANCE",
            expected=f"the problem {MultiModelTraining.problem} goes with instances of kind "
            f"{MultiModel.kind}, and no other does",
        )
    if resources.transfers is not None:
        raise InputError(
            f"{problem} leaves nothing open about transfers",
            field="transfers",
            expected=f"leave it out, or use {RematOffloadChain.problem}",
        )
    return MultiModelTraining(
        instance, resources.memory_text, resources.bandwidth, models=resources.models
    )


def _make_sharding(
    problem: str, instance: Chain | Graph | ShardedGraph | StrategyGraph, resources: Resources
) -> Sharding:
    """Make the problem; without --memory, the limit is that of the instance."""
    if not isinstance(instance, StrategyGraph) or problem != Sharding.problem:
        raise InputError(
            f"{instance.name} is a {instance.kind}",
            field="INSTANCE",
            expected=f"{Sharding.problem} is for a {StrategyGraph.kind}, and that for nothing else",
        )
    for field in ("bandwidth", "transfers"):
        if getattr(resources, field) is not None:
            raise InputError(f"{problem} has no link", field=field, expected="leave it out")
    if resources.memory is None and resources.alpha is None:
        return Sharding(instance)
    return Sharding(instance, resources.memory_text)


def _expect_chain(instance: Chain | Graph | ShardedGraph) -> Chain:
    if not isinstance(instance, Chain):
        raise InputError(
            f"{instance.name} is a {instance.kind}",
            field="INSTANCE",
            expected="give a chain, or use remat-graph",
        )
    return instance
