"""Problem of recomputation and offloading on a graph, within a memory limit."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from jettison.instances.core.errors import InputError
from jettison.instances.core.link import Link, parse_link
from jettison.instances.core.memory import Memory
from jettison.instances.remat_graph.graph import Graph
from jettison.instances.remat_graph.problem import RematGraph


@dataclass(frozen=True)
class RematOffloadGraph:
    """Compute every node of `instance` within `memory`, by recomputing and by offloading.

    Values may be copied to the host, whose memory is unlimited, and brought back, while nodes are
    computed. Each direction of the link carries one transfer at a time; on a link that both
    directions share, two transfers at once have half of its total each. A transfer takes all of its
    memory at once (`Transfers.AT_ONCE`). Values of which `Node.offload` is false stay.

    Without a link this is `RematGraph`.

    Attributes
    ----------
    instance
        The graph.
    memory
        As in `RematGraph`: bytes, a share (``"60%"``) of the peak without recomputation in the
        graph's own order, or a `Card`.
    bandwidth
        The link, as `parse_link` reads it: bytes per second of each direction, a text such as
        ``"12GB/s"`` or ``"12GB/s:half-duplex"``, or the name of a measured link. None or 0 for no
        link.

    Raises
    ------
    InputError
        If `instance` is not a graph, or one of the others cannot be read.
    """

    problem = "remat-offload-graph"

    instance: Graph
    memory: str | int | Memory
    bandwidth: str | int | Link | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.instance, Graph):
            raise InputError(
                f"a {type(self.instance).__name__}",
                field="instance",
                expected="remat-offload-graph needs a graph; remat-offload-chain takes a chain",
            )
        object.__setattr__(self, "memory", RematGraph(self.instance, self.memory).memory)
        is_absent = self.bandwidth is None or self.bandwidth == 0
        link = None if is_absent else parse_link(self.bandwidth)  # type: ignore[arg-type]
        object.__setattr__(self, "bandwidth", link)

    @property
    def base_time_ns(self) -> int:
        """Time of the step with nothing computed again and nothing waited for."""
        return self.instance.base_time_ns

    @cached_property
    def memory_bytes(self) -> int:
        """The limit in bytes; shares round down."""
        return self.without_link.memory_bytes

    @property
    def link(self) -> Link | None:
        """The link to the host; None where there is none."""
        assert self.bandwidth is None or isinstance(self.bandwidth, Link)
        return self.bandwidth

    @cached_property
    def movable(self) -> frozenset[int]:
        """Nodes whose values can be sent to the host: none without a link."""
        if self.link is None:
            return frozenset()
        nodes = self.instance.nodes
        return frozenset(i for i, node in enumerate(nodes) if node.offload and node.has_value)

    @property
    def without_link(self) -> RematGraph:
        """The problem of the same graph and memory in which nothing leaves the device."""
        return RematGraph(self.instance, self.memory)
