r"""Translation of a chain into a graph whose schedules have the same costs.

The obvious graph, with one node per forward and per backward operation, is not equivalent to the
chain. A node has one output and one way to be computed, so that the graph can take
:math:`\bar a^\ell` from a kept :math:`a^\ell` without running :math:`F^\ell` again, and can
regenerate the input at no cost. The graph built here can do neither. Like a device, and like the
chain, it can drop any value at no cost.

Construction
------------
Let :math:`R` be the no-saving peak of the chain (`Chain.store_all_peak_bytes`). Stage
:math:`\ell = 1, \dots, N` becomes four nodes (three for the loss, which has no :math:`A_N`):

=============== ============= ======================== ===============================
node            time          output bytes             inputs
=============== ============= ======================== ===============================
:math:`F_\ell`  :math:`u_f`   :math:`R`                :math:`A_{\ell-1}`
:math:`S_\ell`  0             :math:`\bar a^\ell       :math:`A_{\ell-1}, F_\ell`
                              - a^\ell`
:math:`A_\ell`  0             :math:`a^\ell`           :math:`F_\ell`
:math:`B_\ell`  :math:`u_b`   :math:`\delta^{\ell-1}`  :math:`S_\ell, A_{\ell-1}, A_\ell,
                                                       B_{\ell+1}`
=============== ============= ======================== ===============================

There is no :math:`A_0`: the workspace of every node holds :math:`a^0`, and besides

* of :math:`F_\ell`: :math:`a^\ell + o_f`; of :math:`S_\ell`: :math:`a^\ell + \bar o_f`,
* of :math:`A_\ell`: :math:`\bar o_f`,
* of :math:`B_\ell`: :math:`R + o_b`, less :math:`\delta^{\ell-1}` if :math:`o_b` holds it.

:math:`A_\ell` is :math:`a^\ell`, on its own or as a part of :math:`\bar a^\ell`, and
:math:`S_\ell` the rest of :math:`\bar a^\ell`. The value of :math:`F_\ell` fills the reserve
:math:`R` that every other :math:`F` and :math:`B` needs, so that in a memory of less than
:math:`2R` only :math:`A_\ell` and :math:`S_\ell` can run before it is freed: they cost a run of
:math:`F_\ell`, each time.

Statement
---------
For :math:`M < R`, the chain has a schedule of time :math:`T` in :math:`M` bytes, drops among its
operations, if and only if the graph has one in :math:`M + R` (`graph_memory_bytes`) of at most that
time. So the least times are equal, and a bound for all schedules of one is a bound for all of the
other. In :math:`R` bytes or more both take the base time.

*Proof.* From the chain to the graph: :math:`a^0` is in memory all the time, since nothing
recomputes it and :math:`B^1` reads it. Let the graph hold :math:`A_\ell` while the chain holds
:math:`a^\ell` or :math:`\bar a^\ell`, :math:`S_\ell` while it holds :math:`\bar a^\ell`, and the
gradient, of :math:`B_\ell`, while the chain does: then it stores as much as the chain but for
:math:`a^0`, which is in the workspaces. Every forward of the chain runs :math:`F_\ell`, then
:math:`S_\ell` if it saves, then :math:`A_\ell`, each where it is not there, and frees
:math:`F_\ell`. With :math:`s` bytes stored in the chain when it starts, :math:`F_{ck}^\ell` needs
:math:`s + a^\ell + o_f` and :math:`F_{all}^\ell` needs :math:`s + \bar a^\ell + \bar o_f`, which is
no less; of the nodes, :math:`F_\ell` and then :math:`A_\ell` need :math:`R` more than the former,
for :math:`\bar o_f \le o_f`, and :math:`S_\ell` and then :math:`A_\ell` :math:`R` more than the
latter. :math:`B_\ell` needs :math:`R` more than
:math:`B^\ell`. What the chain drops, at a price or at no cost, is freed.

From the graph to the chain: ``tests/remat_chain/oracles/from_graph.py`` has the mapping
and the proof.
:math:`\square`

The base time of the graph is that of the chain, and its no-recomputation peak is :math:`2R`.
"""

from __future__ import annotations

from dataclasses import replace

from jettison.instances.core.errors import InputError
from jettison.instances.core.names import LONGEST_NAME
from jettison.instances.core.units import LARGEST_AMOUNT
from jettison.instances.remat_chain.chain import Chain
from jettison.instances.remat_graph.graph import Graph, Node


def graph_memory_bytes(chain: Chain, memory_bytes: int) -> int:
    """Return the memory limit of `chain_to_graph(chain)` that is equivalent to one of the chain.

    It is larger by the no-saving peak of the chain, the reserve of the construction. A share of
    the peak does not carry over: work out the bytes for the chain first.
    """
    return memory_bytes + chain.store_all_peak_bytes


def chain_to_graph(chain: Chain) -> Graph:
    r"""Return a chain as a graph whose schedules have the same costs: :math:`4N - 1` nodes.

    The nodes are called ``F3 name``, ``S3 name``, ``A3 name`` and ``B3 name`` after stage 3. The
    order is :math:`F_1, S_1, A_1, \dots, F_N, S_N, B_N, \dots, B_1`; only the last are backward.
    :math:`O(N)`.

    Raises
    ------
    InputError
        If twice the no-saving peak is too large for a size.
    """
    reserve = chain.store_all_peak_bytes
    if 2 * reserve > LARGEST_AMOUNT:
        raise InputError(
            f"the no-saving peak of {reserve} bytes is too large to be converted",
            field="stages",
            expected="check the unit of the sizes: bytes",
        )
    nodes: list[Node] = []
    for number, stage in enumerate(chain, start=1):
        output = stage.output_bytes
        inputs = (_node_name("A", chain, number - 1),) if number > 1 else ()
        forward = _node_name("F", chain, number)
        nodes.append(
            Node(
                name=forward,
                duration_ns=stage.forward_ns,
                output_bytes=reserve,
                inputs=inputs,
                workspace_bytes=chain.input_bytes + stage.passing_bytes,
            )
        )
        nodes.append(
            Node(
                name=_node_name("S", chain, number),
                duration_ns=0,
                output_bytes=stage.saved_bytes - output,
                inputs=(*inputs, forward),
                workspace_bytes=chain.input_bytes + output + stage.overhead_of_saving_bytes,
            )
        )
        if number < len(chain):
            nodes.append(
                Node(
                    name=_node_name("A", chain, number),
                    duration_ns=0,
                    output_bytes=output,
                    inputs=(forward,),
                    workspace_bytes=chain.input_bytes + stage.overhead_of_saving_bytes,
                )
            )
    for number in range(len(chain), 0, -1):
        stage = chain.stage(number)
        gradient = chain.gradient_bytes(number - 1)
        gradient_in_overhead = gradient - chain.backward_output_bytes(number)
        reads = [("S", number)]
        if number > 1:
            reads.append(("A", number - 1))
        if number < len(chain):
            reads += [("A", number), ("B", number + 1)]
        nodes.append(
            Node(
                name=_node_name("B", chain, number),
                duration_ns=stage.backward_ns,
                output_bytes=gradient,
                inputs=tuple(_node_name(kind, chain, read) for kind, read in reads),
                # The reserve is at least as large as any gradient: this is not negative.
                workspace_bytes=chain.input_bytes
                + reserve
                + stage.backward_overhead_bytes
                - gradient_in_overhead,
                backward=True,
            )
        )
    note = f"the graph of the chain {chain.name} (source {chain.provenance.source})"
    return Graph(
        name=chain.name,
        nodes=tuple(nodes),
        provenance=replace(chain.provenance, source="derived", note=note),
        resident_bytes=chain.resident_bytes,
    )


def _node_name(kind: str, chain: Chain, number: int) -> str:
    # The number keeps the names apart where a long stage name is cut.
    return f"{kind}{number} {chain.stage(number).name}"[:LONGEST_NAME]
