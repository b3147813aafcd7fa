r"""A chain as a graph whose schedules cost what the schedules of the chain cost.

The obvious graph, with one node per forward and per backward operation, is a weak stand-in for a
chain. A node has one output and one way to be computed, so that the graph can take
:math:`\bar a^\ell` from a kept :math:`a^\ell` without running :math:`F^\ell` again, can drop
:math:`a^{\ell-1}` while it keeps :math:`\bar a^\ell`, and can regenerate the input for nothing.
The graph built here can do none of these.

Construction
------------
Let :math:`R` be the no-saving peak of the chain (`Chain.store_all_peak_bytes`). Stage
:math:`\ell = 1, \dots, N` becomes four nodes (three for the loss, which has no :math:`A_N`):

=============== ============= ========================================== =======================
node            time          output bytes                               inputs
=============== ============= ========================================== =======================
:math:`F_\ell`  :math:`u_f`   :math:`R`                                  :math:`A_{\ell-1}`
:math:`S_\ell`  0             :math:`[\ell>1] a^{\ell-1}+\bar a^\ell     :math:`F_\ell`
                              -a^\ell`
:math:`A_\ell`  0             :math:`a^\ell`                             :math:`F_\ell`
:math:`B_\ell`  :math:`u_b`   :math:`a^{\ell-1}`                         :math:`S_\ell, B_{\ell+1}`
=============== ============= ========================================== =======================

The workspace of every node holds :math:`a^0`, and besides

* of :math:`F_\ell`: :math:`\min(a^\ell + o_f,\; \bar a^\ell + e)`,
* of :math:`S_\ell`: :math:`a^\ell + \min(o_f, e)`,
* of :math:`A_\ell`: :math:`o_f`,
* of :math:`B_\ell`: :math:`R + a^\ell + o_b`, less :math:`a^{\ell-1}` if :math:`o_b` holds it,

where :math:`e` is :math:`o_b` plus the gradient :math:`\delta^{\ell-1}` unless :math:`o_b` holds
it, and :math:`e = \infty` for :math:`\ell = 1`.

:math:`A_\ell` is :math:`a^\ell` on its own, :math:`S_\ell` is the pair that :math:`B^\ell` reads:
:math:`a^{\ell-1}` and what :math:`\bar a^\ell` holds besides :math:`a^\ell`; the bytes of
:math:`a^\ell` are counted by :math:`A_\ell`, then by :math:`S_{\ell+1}`, then by the workspace of
:math:`B_\ell`. The value of :math:`F_\ell` fills the reserve :math:`R` that every other
:math:`F` and :math:`B` needs, so that in a memory of less than :math:`2R` only :math:`A_\ell` and
:math:`S_\ell` can run before it is freed: they cost a run of :math:`F_\ell`, each time.

Statement
---------
For every valid schedule of the chain, persistent or not, with time :math:`T` and peak :math:`P`,
the graph has a schedule with time at most :math:`T` and peak at most :math:`P + R`. Hence a lower
bound on the time of all schedules of the graph in a memory of :math:`M + R`
(`graph_memory_bytes`) holds for all schedules of the chain in a memory of :math:`M`.

*Proof.* Let :math:`\beta_\ell` be the moment of :math:`B^\ell` and :math:`\tau_\ell` that of the
last :math:`F_{all}^\ell` before it; :math:`\bar a^\ell` is in memory between the two, and
:math:`a^0` is in memory all the time, since nothing recomputes it and :math:`B^1` reads it. Call
stage :math:`\ell` regular if no :math:`F_\emptyset^\ell` runs between :math:`\tau_\ell` and
:math:`\beta_\ell`; then :math:`a^{\ell-1}` is in memory all that time. Stage 1 is regular. The
*final run* of :math:`F_\ell` is at :math:`\tau_\ell` in a regular stage and just before
:math:`\beta_\ell` in another; the last :math:`F_\emptyset^\ell` of an irregular stage before
:math:`\beta_\ell` is mapped to no run, so that the number of runs does not grow. Every other
:math:`F^\ell` before the final run computes :math:`F_\ell` and :math:`A_\ell`, if
:math:`A_\ell` is not there; those after it do nothing. The final run computes :math:`F_\ell`,
drops :math:`A_{\ell-1}`, computes :math:`S_\ell`, and in a regular stage :math:`A_\ell` if it is
not there. :math:`A_\ell` stays while the chain holds :math:`a^\ell` or :math:`\bar a^\ell`, at
most to the final run of :math:`F_{\ell+1}`; :math:`S_\ell` stays until :math:`\beta_\ell`.

So each node finds its inputs. The graph holds :math:`a^k` in :math:`A_k` or in
:math:`S_{k+1}`, never in both, and only while the chain holds it; it holds the rest of
:math:`\bar a^k` only while the chain does, and the same gradient. With :math:`s` bytes stored in
the chain when an operation starts, the graph stores at most :math:`s - a^0`. A forward operation
of the chain needs :math:`s + a^\ell + o_f` at least and :math:`s + \bar a^\ell + o_f` if it saves,
:math:`B^\ell` needs :math:`s + e` with :math:`\bar a^\ell` and :math:`a^{\ell-1}` in :math:`s`;
the nodes need no more than this and :math:`R`: those of a final run in an irregular stage are
covered by :math:`B^\ell`, which is why :math:`e` limits the workspaces, and :math:`B_\ell` finds
:math:`a^\ell` in :math:`s` but not in the graph. :math:`\square`

The base time of the graph is that of the chain, and its no-recomputation peak is
:math:`2R`, or less if :math:`o_f > e` for the loss. Where :math:`o_f \le e` in all stages the
least times of chain and graph agreed on all of 180 762 pairs of a random chain
(:math:`N \le 5`) and a memory limit that were enumerated; that they always do is not proven.
Where :math:`o_f > e` the graph may be cheaper, and with :math:`o_f` in place of the minima the
statement would be wrong.
"""

from __future__ import annotations

from dataclasses import replace

from jettison.instances.chain import Chain
from jettison.instances.errors import InputError
from jettison.instances.graph import Graph, Node
from jettison.instances.names import LONGEST_NAME
from jettison.instances.units import LARGEST_AMOUNT


def graph_memory_bytes(chain: Chain, memory_bytes: int) -> int:
    """Return the memory limit for `chain_to_graph(chain)` that stands for a limit of the chain.

    It is larger by the no-saving peak of the chain, the reserve of the construction. A share of
    the peak does not carry over: work out the bytes for the chain first.
    """
    return memory_bytes + chain.store_all_peak_bytes


def chain_to_graph(chain: Chain) -> Graph:
    r"""Return the graph of the construction above, with :math:`4N - 1` nodes.

    The nodes are called ``F3 name``, ``S3 name``, ``A3 name`` and ``B3 name`` after stage 3. The
    order is :math:`F_1, S_1, A_1, \dots, F_N, S_N, B_N, \dots, B_1`; only the last are backward.
    :math:`O(N)`.

    Raises
    ------
    InputError
        If the no-saving peak is so large that twice as much is not a size any more.
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
        output, saved = stage.output_bytes, stage.saved_bytes
        saving_overhead = forward_overhead = stage.forward_overhead_bytes
        forward_workspace = output + forward_overhead
        if number > 1:
            backward_need = chain.backward_output_bytes(number) + stage.backward_overhead_bytes
            forward_workspace = min(forward_workspace, saved + backward_need)
            saving_overhead = min(forward_overhead, backward_need)
        nodes.append(
            Node(
                name=_node_name("F", chain, number),
                duration_ns=stage.forward_ns,
                output_bytes=reserve,
                inputs=(_node_name("A", chain, number - 1),) if number > 1 else (),
                workspace_bytes=chain.input_bytes + forward_workspace,
            )
        )
        held_input = chain.activation_bytes(number - 1) if number > 1 else 0
        nodes.append(
            Node(
                name=_node_name("S", chain, number),
                duration_ns=0,
                output_bytes=held_input + saved - output,
                inputs=(_node_name("F", chain, number),),
                workspace_bytes=chain.input_bytes + output + saving_overhead,
            )
        )
        if number < len(chain):
            nodes.append(
                Node(
                    name=_node_name("A", chain, number),
                    duration_ns=0,
                    output_bytes=output,
                    inputs=(_node_name("F", chain, number),),
                    workspace_bytes=chain.input_bytes + forward_overhead,
                )
            )
    for number in range(len(chain), 0, -1):
        stage = chain.stage(number)
        gradient = chain.activation_bytes(number - 1)
        gradient_in_overhead = gradient - chain.backward_output_bytes(number)
        inputs = [_node_name("S", chain, number)]
        if number < len(chain):
            inputs.append(_node_name("B", chain, number + 1))
        nodes.append(
            Node(
                name=_node_name("B", chain, number),
                duration_ns=stage.backward_ns,
                output_bytes=gradient,
                inputs=tuple(inputs),
                # The reserve is at least as large as any gradient: this is not negative.
                workspace_bytes=chain.input_bytes
                + reserve
                + stage.output_bytes
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
    )


def _node_name(kind: str, chain: Chain, number: int) -> str:
    # The number keeps the names apart where a long stage name is cut.
    return f"{kind}{number} {chain.stage(number).name}"[:LONGEST_NAME]
