r"""Translation of a chain with a link into a graph in which every forward operation saves.

Construction
------------
A node for the input, of no time, which is computed once; for each stage a node
:math:`F_\ell` for :math:`F_{all}^\ell`, whose value is :math:`\bar a^\ell`; and for each stage a
node :math:`B_\ell`, computed once, whose value :math:`\delta^{\ell-1}` stays on the device:

================ ============= ================== ==========================================
node             time          output bytes       inputs
================ ============= ================== ==========================================
:math:`F_0`      0             :math:`a^0`
:math:`F_\ell`   :math:`u_f`   :math:`\bar a^\ell` :math:`F_{\ell-1}`
:math:`B_\ell`   :math:`u_b`   :math:`\delta^{\ell-1}` :math:`F_\ell, F_{\ell-1}, B_{\ell+1}`
================ ============= ================== ==========================================

The workspace of :math:`F_\ell` is :math:`\bar o_f`, that of :math:`B_\ell` is :math:`o_b`, less
:math:`\delta^{\ell-1}` where it is held in :math:`o_b`.

Statement
---------
The schedules of the graph are those of the chain with transfers at once in which every forward is
an :math:`F_{all}`: with the same times, and the same memory at every time. So the least time of the
graph is never below that of the chain, in the same memory on the same link. It is equal to it if
every stage but the loss saves no more than it puts out (:math:`\bar a^\ell = a^\ell`): then
:math:`F_{all}` takes no more memory than :math:`F_{ck}`, at any time, and all that reads
:math:`a^\ell` reads :math:`\bar a^\ell` as well (`saves_only_outputs`).

Where a stage saves more than it puts out, no graph says exactly what the chain does: an operation
of a chain reads :math:`a^\ell` *or* :math:`\bar a^\ell`, whichever is there, and a node of a graph
reads all of its inputs. `chain_to_graph` has both, in parts, on a device without a link; with one,
the parts of :math:`\bar a^\ell` could move alone, and its reserve could leave the device.
"""

from __future__ import annotations

from dataclasses import replace

from jettison.instances.core.errors import InputError
from jettison.instances.core.names import LONGEST_NAME
from jettison.instances.remat_chain.chain import Chain
from jettison.instances.remat_graph.graph import Graph, Node


def saves_only_outputs(chain: Chain) -> bool:
    """Tell whether the graph of a chain has the same least times as the chain."""
    return all(stage.saved_bytes == stage.output_bytes for stage in tuple(chain)[:-1])


def saving_graph(chain: Chain) -> Graph:
    r"""Return a chain as a graph in which every forward operation saves: :math:`2N + 1` nodes.

    Raises
    ------
    InputError
        If the gradient of a stage is in its backward overhead, and larger than that.
    """
    names = ["F0 input", *(_name("F", chain, number) for number in range(1, len(chain) + 1))]
    nodes = [Node(name=names[0], duration_ns=0, output_bytes=chain.input_bytes, again=False)]
    for number, stage in enumerate(chain, start=1):
        nodes.append(
            Node(
                name=names[number],
                duration_ns=stage.forward_ns,
                output_bytes=stage.saved_bytes,
                inputs=(names[number - 1],),
                workspace_bytes=stage.overhead_of_saving_bytes,
            )
        )
    for number in range(len(chain), 0, -1):
        stage = chain.stage(number)
        gradient = chain.gradient_bytes(number - 1)
        workspace = stage.backward_overhead_bytes
        if chain.backward_overhead_holds_gradient:
            workspace -= gradient
        if workspace < 0:
            raise InputError(
                f"{stage.backward_overhead_bytes}, which holds a gradient of {gradient} bytes",
                field=f"stages[{number - 1}].backward_overhead_bytes",
                expected="give a chain whose overheads are as large as what they hold",
            )
        above = (_name("B", chain, number + 1),) if number < len(chain) else ()
        nodes.append(
            Node(
                name=_name("B", chain, number),
                duration_ns=stage.backward_ns,
                output_bytes=gradient,
                inputs=(names[number], names[number - 1], *above),
                workspace_bytes=workspace,
                backward=True,
                again=False,
                offload=False,
            )
        )
    note = f"the chain {chain.name} (source {chain.provenance.source}), whose forwards all save"
    return Graph(
        name=chain.name,
        nodes=tuple(nodes),
        provenance=replace(chain.provenance, source="derived", note=note),
        resident_bytes=chain.resident_bytes,
    )


def _name(kind: str, chain: Chain, number: int) -> str:
    # The number keeps the names apart where a long stage name is cut.
    return f"{kind}{number} {chain.stage(number).name}"[:LONGEST_NAME]
