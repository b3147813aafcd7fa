r"""Hard register allocation: the vertex separation number of a graph, a proved reduction to RP-DEC.

Checkmate (Jain et al., MLSys 2020, Appendix C) has from Sethi, who reduces 3-SAT to it, that RP-DEC
(`register_allocation`) is NP-hard. In place of his reduction stands one from another NP-complete
problem that is short enough to be proved here.

Vertex separation
-----------------
Let :math:`H` be an undirected graph of :math:`n` vertices and :math:`m \ge 1` edges. In an order
:math:`v_1, \dots, v_n` of its vertices let :math:`S_i` be the number of those among
:math:`v_1, \dots, v_i` with a neighbour among :math:`v_{i+1}, \dots, v_n`. The *vertex separation
number* :math:`\mathrm{vs}(H)` is the least :math:`\max_i S_i` of all orders. Whether it is at most
:math:`s` is NP-complete (Lengauer, Black-white pebbles and graph separation, Acta Informatica 16,
1981); it is the pathwidth of :math:`H` (Kinnersley, Information Processing Letters 42, 1992), of
which that is known too (Kashiwabara and Fujisawa 1979; Arnborg, Corneil and Proskurowski 1987).
These theorems are cited; the rest is proved below.

Many results
------------
A node for each vertex reads nothing; a node for each edge reads its two ends, and nobody reads it.
**The least memory of a plan that computes each node once is** :math:`\mathrm{vs}(H) + 2`.

*Proof.* Take any order of all nodes, and let :math:`v_1, \dots, v_n` be the vertices in it. Take
:math:`i` with the largest :math:`S_i`, which is at least one, and the first edge in the order that
has one end among :math:`v_1, \dots, v_i` and one behind them. While it is computed the
:math:`S_i \ge \mathrm{vs}(H)` vertices are all in memory, because they have been computed and an
edge of each has not, and so are the other end, which is none of them, and the edge. Conversely take
an order of the vertices with :math:`S_i \le \mathrm{vs}(H)`, and compute each edge when both of its
ends are there. Before :math:`v_i` the memory holds :math:`S_{i-1}` values, with it
:math:`S_{i-1} + 1`, and each edge takes one more and leaves at once. :math:`\square`

One result
----------
Checkmate's graphs have one last node. Let it read all edges, and let each vertex be :math:`m`
nodes, all of which its edges read. **There is a plan that computes each node once in a memory of**
:math:`m (s + 2)` **if and only if** :math:`\mathrm{vs}(H) \le s`.

*Proof.* In any order let :math:`v_1, \dots, v_n` be the vertices in the order of the last of their
nodes, and take the edge as above: all nodes of :math:`S_i + 1` vertices are in memory with it,
:math:`m (\mathrm{vs}(H) + 1) + 1` values at least. That is more than :math:`m (s + 2)` if
:math:`\mathrm{vs}(H) > s`. Conversely the plan above holds at most :math:`S_{i-1} + 1 \le s + 1`
vertices and :math:`m` edges at a time, and at the end :math:`m + 1 \le 2m` values. :math:`\square`

Vertices without an edge change no :math:`S_i`, and are left out. Where nodes may be computed again
the memory is no question: three bytes suffice for the first graph, if the ends of each edge are
computed for it alone, at a cost of :math:`3 m`.
"""

from __future__ import annotations

from collections.abc import Collection
from itertools import chain

from jettison.instances.core.errors import InputError
from jettison.instances.core.units import checked_amount
from jettison.instances.generators.register_allocation import register_allocation
from jettison.instances.remat_graph.problem import RematGraph

_MOST_NODES = 10_000

Edge = tuple[int, int]


def vertex_separation(edges: Collection[Edge], number: int) -> RematGraph:
    """Return the problem of many results, with a plan of unit cost iff vs(H) is at most `number`.

    Parameters
    ----------
    edges
        The undirected graph :math:`H`: pairs of vertices, which are whole numbers.
    number
        The vertex separation number that is asked about, :math:`s`.

    Raises
    ------
    InputError
        If there is no edge, one is none or stands twice, or the number or the graph is too large.
    """
    pairs, vertices = _numbered(edges, number)
    _check_size(vertices + len(pairs))
    name = f"vertex-separation-{vertices}-{len(pairs)}"
    return register_allocation([*[()] * vertices, *pairs], number + 2, name)


def vertex_separation_of_one_result(edges: Collection[Edge], number: int) -> RematGraph:
    """Return the problem of one result, with a plan of unit cost iff vs(H) is at most `number`.

    Parameters and errors are those of `vertex_separation`. The graph has :math:`m (n + 1) + 1`
    nodes.
    """
    pairs, vertices = _numbered(edges, number)
    copies = len(pairs)
    _check_size((vertices + 1) * copies + 1)
    reads = [[end * copies + copy for end in pair for copy in range(copies)] for pair in pairs]
    last = range(vertices * copies, (vertices + 1) * copies)
    name = f"vertex-separation-of-one-result-{vertices}-{len(pairs)}"
    return register_allocation(
        [*[()] * (vertices * copies), *reads, last], copies * (number + 2), name
    )


def _numbered(edges: Collection[Edge], number: int) -> tuple[list[Edge], int]:
    """Return the edges between vertices counted from 0, and how many vertices they have."""
    checked_amount(number, "number", "vertices")
    if not edges:
        raise InputError("there is none", field="edges", expected="give at least one edge")
    pairs: dict[Edge, None] = {}
    for place, edge in enumerate(edges):
        is_edge = len({*edge}) == len(edge) == 2 and all(isinstance(end, int) for end in edge)
        pair = (min(edge), max(edge)) if is_edge else None
        if pair is None or pair in pairs:
            raise InputError(
                f"{edge}",
                field=f"edges[{place}]",
                expected="name two different vertices by whole numbers, and each edge once",
            )
        pairs[pair] = None
    position_of = {end: place for place, end in enumerate(sorted({*chain.from_iterable(pairs)}))}
    numbered = [(position_of[one], position_of[other]) for one, other in pairs]
    return numbered, len(position_of)


def _check_size(nodes: int) -> None:
    if nodes > _MOST_NODES:
        raise InputError(
            f"the graph would have {nodes} nodes",
            field="edges",
            expected=f"ask for {_MOST_NODES} at most",
        )
