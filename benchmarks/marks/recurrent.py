"""Training step of a recurrent network with gates, operator by operator, of any length."""

from __future__ import annotations

from jettison.instances.remat_graph.graph import Graph, Node

_UNIT_BYTES = 2**16
# Operators of a cell: its name, what it reads of the cell (``h`` and ``c`` are those of the cell
# before), microseconds, and size in units. The four gates are products of the input and the state.
_CELL = (
    ("gates", ("x", "h"), 60, 4),
    ("input", ("gates",), 5, 1),
    ("forget", ("gates",), 5, 1),
    ("update", ("gates",), 5, 1),
    ("output", ("gates",), 5, 1),
    ("written", ("input", "update"), 4, 1),
    ("kept", ("forget", "c"), 4, 1),
    ("c", ("kept", "written"), 4, 1),
    ("shown", ("c",), 5, 1),
    ("h", ("output", "shown"), 4, 1),
)
# Beside these the step has inputs of cells, first states and the loss.
_NODES_OF_A_CELL = 1 + 2 * len(_CELL)


def recurrent(nodes: int) -> Graph:
    """Return a step of cells in a row, forward and backward, of at most so many nodes.

    The backward of an operator reads its inputs, its value and the gradients of its users. Weights
    are not counted, nor are their gradients.

    Parameters
    ----------
    nodes
        Number of nodes, from 25.
    """
    cells = max(1, (nodes - 4) // _NODES_OF_A_CELL)
    made = [
        Node(name=f"{state}_0", duration_ns=1000, output_bytes=_UNIT_BYTES) for state in ("h", "c")
    ]
    forward: list[tuple[str, tuple[str, ...], int, int]] = []
    for cell in range(1, cells + 1):
        made.append(Node(name=f"x_{cell}", duration_ns=1000, output_bytes=_UNIT_BYTES))
        known = {"x": f"x_{cell}", "h": f"h_{cell - 1}", "c": f"c_{cell - 1}"}
        for operator, reads, microseconds, units in _CELL:
            inputs = tuple(known[read] for read in reads)
            name = f"{operator}_{cell}"
            made.append(
                Node(
                    name=name,
                    duration_ns=1000 * microseconds,
                    output_bytes=units * _UNIT_BYTES,
                    inputs=inputs,
                )
            )
            forward.append((name, inputs, microseconds, units))
            known[operator] = name
    last = (f"h_{cells}", f"c_{cells}")
    made.append(Node(name="loss", duration_ns=3000, output_bytes=4, inputs=last, keep=True))
    readers: dict[str, list[str]] = {name: ["loss"] for name in last}
    for name, inputs, microseconds, units in reversed(forward):
        gradients = [
            reader if reader == "loss" else f"d_{reader}" for reader in readers.get(name, [])
        ]
        made.append(
            Node(
                name=f"d_{name}",
                duration_ns=2000 * microseconds,
                output_bytes=units * _UNIT_BYTES,
                inputs=tuple(dict.fromkeys((*gradients, *inputs, name))),
                backward=True,
            )
        )
        for read in inputs:
            readers.setdefault(read, []).append(name)
    return Graph(f"recurrent-n{len(made)}", tuple(made))
