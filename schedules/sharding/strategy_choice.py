"""Strategy choice: one strategy for every node of a strategy graph, and its replay."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from jettison.instances.core.errors import InputError
from jettison.instances.core.live_sets import usage_over_time
from jettison.instances.sharding.strategy_graph import StrategyGraph
from jettison.schedules.core.findings import Findings
from jettison.schedules.core.replay import Replay, Rule
from jettison.schedules.core.schedule_class import ScheduleClass


@dataclass(frozen=True, kw_only=True)
class ChoiceReplay(Replay):
    """Verdict of the replay of a strategy choice.

    There is no order of operations, and so no steps; `memory_profile` holds (time, bytes in use
    from then on) where that changes, in the times of the instance.

    Attributes
    ----------
    costs_ns
        For each node, its own cost and those of the edges that it is the second end of.
    names
        For each node, its name and strategy.
    """

    costs_ns: tuple[int, ...]
    names: tuple[str, ...]

    @property
    def clock(self) -> str:
        """The times of the instance, which have no unit."""
        return "instance"

    @cached_property
    def time_ns(self) -> int:
        """Sum of the costs of all nodes and edges, without those that are forbidden or unknown."""
        return sum(self.costs_ns)


@dataclass(frozen=True, slots=True)
class StrategyChoice:
    """Strategy choice: the strategy of each node, in the order of the nodes, counted from 0."""

    kind = "strategy-choice"

    strategies: tuple[int, ...]

    def replay(self, graph: StrategyGraph, memory_bytes: int | None = None) -> ChoiceReplay:
        r"""Add up costs and memory in exact integers and name every broken rule.

        The cost is the sum over nodes and over edges. The memory in use at a time is the sum over
        the nodes whose interval [from, to) holds it; where it exceeds the limit, each stretch of
        time is named once, by its first moment, with the most by which it is exceeded.

        Parameters
        ----------
        graph
            The instance.
        memory_bytes
            The limit; None to measure only.

        Raises
        ------
        InputError
            If there is not one strategy for each node.

        Notes
        -----
        :math:`O(n \log n + |E|)`.
        """
        if len(self.strategies) != len(graph):
            raise InputError(
                f"{len(self.strategies)} strategies",
                field="strategies",
                expected=f"give one for each of the {len(graph)} nodes of {graph.name}",
            )
        findings = Findings()
        costs_ns = [0] * len(graph)
        usages: list[tuple[tuple[int, int], int]] = []
        known = []
        names = tuple(
            f"{node.name}: {strategy}"
            for node, strategy in zip(graph.nodes, self.strategies, strict=True)
        )
        for position, (node, strategy) in enumerate(zip(graph.nodes, self.strategies, strict=True)):
            findings.at(position, names[position])
            known.append(0 <= strategy < len(node))
            if not known[-1]:
                findings.broken(Rule.UNKNOWN_OPERATION, f"{node.name} has {len(node)} strategies")
                continue
            cost = node.costs_ns[strategy]
            if cost is None:
                findings.broken(Rule.FORBIDDEN_STRATEGY, node.name)
            else:
                costs_ns[position] += cost
            usages.append((node.interval, node.usages_bytes[strategy]))
        for (first, second), edge in zip(graph.ends, graph.edges, strict=True):
            if not (known[first] and known[second]):
                continue
            width = len(graph.nodes[second])
            cost = edge.costs_ns[self.strategies[first] * width + self.strategies[second]]
            if cost is None:
                findings.at(second, names[second])
                findings.broken(Rule.FORBIDDEN_PAIR, names[first])
            else:
                costs_ns[second] += cost
        profile = usage_over_time(usages)
        if memory_bytes is not None:
            _find_excess(profile, memory_bytes, findings)
        return ChoiceReplay(
            steps=(),
            peak_bytes=max((usage for _, usage in profile), default=0),
            limit_bytes=memory_bytes,
            violations=findings.violations,
            schedule_class=ScheduleClass.ALL,
            memory_profile=tuple(profile),
            costs_ns=tuple(costs_ns),
            names=names,
        )


def _find_excess(profile: list[tuple[int, int]], limit_bytes: int, findings: Findings) -> None:
    since: int | None = None
    most = 0
    for time, usage in profile:
        if usage > limit_bytes:
            since = time if since is None else since
            most = max(most, usage - limit_bytes)
        elif since is not None:
            findings.broken_at_time(since, most)
            since, most = None, 0
