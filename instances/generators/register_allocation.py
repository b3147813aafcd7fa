r"""Register allocation without recomputation as a step of unit times and sizes: RP-DEC.

Checkmate (Jain et al., MLSys 2020, Appendix C) calls RP-DEC the question whether a graph in unit
times and sizes has a plan of cost :math:`|V|` within a memory of :math:`k`. A plan computes every
node at least once, and so such a plan computes each node once, in some order: values are the
contents of registers, and :math:`k` registers have to do. That is the problem of Sethi (Complete
register allocation problems, SIAM J. Comput. 4, 1975), with one difference. A value is freed after
a computation here, as in Checkmate's (3), so that a result stands beside its inputs while it is
computed; Sethi's last move lets it take the register of one of them. A node that reads another one
thus needs two registers here, and one there.

The order is free. In the order of the graph the question is
``graph.store_all_peak_bytes <= registers``; for every order `checkmate-unpartitioned` decides it,
as its docstring proves. `orders` may find an order, and `any-order-bound` may prove that there is
none, in graphs that are too large for that.
"""

from __future__ import annotations

from collections.abc import Sequence

from jettison.instances.core.errors import InputError
from jettison.instances.core.provenance import Provenance
from jettison.instances.core.units import checked_amount
from jettison.instances.remat_graph.graph import Graph, Node
from jettison.instances.remat_graph.problem import RematGraph


def register_allocation(
    reads: Sequence[Sequence[int]], registers: int, name: str = "registers"
) -> RematGraph:
    """Return the problem of a program in so many registers: its least time is RP-DEC's question.

    It takes as many nanoseconds as there are nodes if the answer is yes, and more, or nothing fits,
    if it is no.

    Parameters
    ----------
    reads
        For each node, the positions of the earlier nodes whose values it reads.
    registers
        The memory :math:`k` in bytes; every value has one.
    name
        Name of the graph.

    Raises
    ------
    InputError
        If there is no node, one reads another that is not before it, or the same one twice, or the
        registers are no whole number.
    """
    checked_amount(registers, "registers", "bytes")
    for place, inputs in enumerate(reads):
        for source in inputs:
            if not isinstance(source, int) or not 0 <= source < place:
                raise InputError(
                    f"{source!r}",
                    field=f"reads[{place}]",
                    expected="name positions of earlier nodes, counted from 0",
                )
    nodes = tuple(
        Node(
            name=f"value{place}",
            duration_ns=1,
            output_bytes=1,
            inputs=tuple(f"value{source}" for source in inputs),
        )
        for place, inputs in enumerate(reads)
    )
    return RematGraph(Graph(name, nodes, provenance=Provenance(source="synthetic")), registers)
