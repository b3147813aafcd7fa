"""Training step of a linear network in unit time and unit size.

Source: Checkmate (Jain et al., MLSys 2020, Section 4.6 and Appendix A), which compares its integer
programs on such a step of 17 nodes in a memory of 4.
"""

from __future__ import annotations

from jettison.instances.core.errors import InputError
from jettison.instances.core.provenance import Provenance
from jettison.instances.remat_graph.graph import Graph, Node

_MOST_LAYERS = 10_000


def linear_network(layers: int = 8) -> Graph:
    """Return the step of a network in a line: forward operations, a loss, and gradients.

    The gradient of a layer reads the gradient that comes from above, or the loss, and the output of
    the layer. Every operation takes 1 ns, and every value 1 byte.

    Parameters
    ----------
    layers
        Forward operations; the step has ``2 * layers + 1`` nodes.

    Raises
    ------
    InputError
        If the number of layers is out of range.
    """
    if not 1 <= layers <= _MOST_LAYERS:
        raise InputError(f"{layers}", field="layers", expected=f"write 1 to {_MOST_LAYERS}")
    forward = [f"layer{k}" for k in range(layers)]
    nodes = [_node(name, forward[k - 1 : k]) for k, name in enumerate(forward)]
    nodes.append(_node("loss", forward[-1:]))
    above = "loss"
    for name in reversed(forward):
        nodes.append(_node(f"grad_{name}", [above, name], backward=True))
        above = f"grad_{name}"
    provenance = Provenance(source="synthetic", model=f"linear-{layers}")
    return Graph(f"linear-{layers}", tuple(nodes), provenance=provenance)


def _node(name: str, inputs: list[str], *, backward: bool = False) -> Node:
    return Node(name=name, duration_ns=1, output_bytes=1, inputs=tuple(inputs), backward=backward)
