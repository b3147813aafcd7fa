"""Names of the values of a graph in JAX: which a policy of names can save, and which it must.

In a graph that `jettison.jax.traced_graph` has made, the name of a forward node is that under which
``checkpoint_name`` knows its value, or all of them, with commas, where it has several. What is
saved by whatever policy (values that enter a loop) begins with `ALWAYS_SAVED`; forward nodes
without either have no name in JAX, and are computed again where they are needed. In any other
graph each node has the name that its user gives to its value.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from jettison.instances.core.errors import InputError
from jettison.instances.remat_graph.graph import Graph

TRACED = "jettison/"
ALWAYS_SAVED = "saved/"
_LOOP = re.compile(r"(^|/)(scan|while)\.\d+$")


@dataclass(frozen=True, slots=True)
class NamedValues:
    """Values of a graph that policies of names decide about.

    Attributes
    ----------
    names
        Names in JAX of each forward node that has some, by its position.
    always
        Forward nodes that are saved by whatever policy.
    has_loops
        Whether a forward node is a loop, which is not to run again as a whole.
    """

    names: dict[int, tuple[str, ...]]
    always: frozenset[int]
    has_loops: bool

    @classmethod
    def of(cls, graph: Graph) -> NamedValues:
        """Return the named values of a graph.

        Raises
        ------
        InputError
            If no node has the mark of the backward pass, or no forward node can be named.
        """
        if not any(node.backward for node in graph.nodes):
            raise InputError(
                "no node has the mark of the backward pass",
                field="instance",
                expected="give the graph of a training step: that of `jettison.jax.traced_graph`",
            )
        forward = [place for place, node in enumerate(graph.nodes) if not node.backward]
        is_traced = any(
            graph.nodes[place].name.startswith((TRACED, ALWAYS_SAVED)) for place in forward
        )
        names = {
            place: tuple(graph.nodes[place].name.split(",")) if is_traced else (name,)
            for place in forward
            for name in (graph.nodes[place].name,)
            if not is_traced or name.startswith(TRACED)
        }
        if not names:
            raise InputError(
                "no forward node has a name that begins with 'jettison/'",
                field="instance",
                expected="give a graph whose values a policy can name",
            )
        return cls(
            names,
            frozenset(
                place
                for place in forward
                if is_traced and graph.nodes[place].name.startswith(ALWAYS_SAVED)
            ),
            any(_LOOP.search(graph.nodes[place].name) for place in forward),
        )


def node_name(equation: str, names: tuple[str, ...], *, always: bool) -> str:
    """Return the name of a forward node that was traced.

    Parameters
    ----------
    equation
        Name of its equation.
    names
        Names of its values in JAX; empty if it has none.
    always
        Whether it is saved by whatever policy.
    """
    if always:
        return f"{ALWAYS_SAVED}{equation}"
    return ",".join(names) if names else equation
