"""Checkpoint regions: a step whose regions run again in the backward pass, operator by operator."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from jettison.instances.core.errors import InputError
from jettison.instances.remat_graph.graph import Graph


@dataclass(frozen=True, slots=True, kw_only=True)
class OperatorCall:
    """Call of an operator within a region, for which a policy has one decision.

    Attributes
    ----------
    operator
        The operator as PyTorch names it, ``aten.addmm.default``.
    nodes
        The nodes of the graph that it computes, the operator itself first; empty for a view.
    may_be_saved
        Whether its results may be kept from the forward pass; what later calls write to may not.
    is_random
        Whether it draws random numbers. Saved ones do not draw when the region runs again.
    """

    operator: str
    nodes: tuple[int, ...] = ()
    may_be_saved: bool = False
    is_random: bool = False


@dataclass(frozen=True, slots=True)
class CheckpointRegion:
    """Region of a step: what runs again as one when the backward pass first needs some of it.

    Attributes
    ----------
    name
        Path of the module.
    calls
        Its calls, in the order of the forward pass.
    """

    name: str
    calls: tuple[OperatorCall, ...]


@dataclass(frozen=True)
class CheckpointRegions:
    """Checkpoint regions of a step, and the step in which none of their calls is saved.

    Attributes
    ----------
    graph
        Every operation of the step; what regions run again are nodes that come once.
    regions
        Regions in the order of the forward pass; no node is of two.
    steps
        The step in which every region runs again: (True, node) computes a node, (False, node) ends
        its value. What a region makes ends in the forward pass when nothing refers to it, and
        again in the backward pass.

    Raises
    ------
    InputError
        If a node does not exist, or is of two calls.
    """

    graph: Graph
    regions: tuple[CheckpointRegion, ...]
    steps: tuple[tuple[bool, int], ...]

    def __post_init__(self) -> None:
        seen: set[int] = set()
        for place, region in enumerate(self.regions):
            for node in (node for call in region.calls for node in call.nodes):
                if not 0 <= node < len(self.graph) or node in seen:
                    raise InputError(
                        f"node {node} is unknown or of two calls",
                        field=f"regions[{place}]",
                        expected="give nodes of the graph, each in one call",
                    )
                seen.add(node)

    @cached_property
    def computed_at(self) -> dict[int, tuple[int, ...]]:
        """For each node, the places of its computations among the steps."""
        return self._places(is_computation=True)

    @cached_property
    def ended_at(self) -> dict[int, tuple[int, ...]]:
        """For each node, the places among the steps where its value ends."""
        return self._places(is_computation=False)

    @cached_property
    def choices(self) -> tuple[tuple[int, int], ...]:
        """Calls that may be saved and run again otherwise: (region, call), in order."""
        return tuple(
            (place, number)
            for place, region in enumerate(self.regions)
            for number, call in enumerate(region.calls)
            if call.may_be_saved and self.runs_again(call)
        )

    def runs_again(self, call: OperatorCall) -> bool:
        """Tell whether a call runs in the backward pass unless it is saved."""
        return bool(call.nodes) and len(self.computed_at.get(call.nodes[0], ())) > 1

    def _places(self, *, is_computation: bool) -> dict[int, tuple[int, ...]]:
        found: dict[int, list[int]] = {}
        for place, (computes, node) in enumerate(self.steps):
            if computes == is_computation:
                found.setdefault(node, []).append(place)
        return {node: tuple(places) for node, places in found.items()}
