"""Layer profile: layers of a training step with times and sizes, checked and ordered.

It is what files of PipeDream and of Device Placement say; `layer_profile_steps` makes instances of
it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from jettison.instances.core.errors import InputError
from jettison.instances.core.provenance import Provenance
from jettison.instances.core.topological_order import find_cycle, topological_order


@dataclass(frozen=True, slots=True, kw_only=True)
class Layer:
    """Layer of a profile: times of its two operations, sizes of its output and its parameters.

    Attributes
    ----------
    name
        Unique within the profile, such as ``node2 Linear``.
    may_be_input
        True if the layer is an input of the step where it reads nothing.
    """

    name: str
    may_be_input: bool
    forward_ns: int
    backward_ns: int
    output_bytes: int
    weight_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """Layers and edges of a training step, without the inputs of the step.

    Attributes
    ----------
    name
        Name of the instances.
    provenance
        Origin of the numbers.
    input_bytes
        Size of all inputs of the step together.
    layers
        By identifier, in a topological order in which a layer stands as late as those that read
        it allow; a layer that does not lead to the output stands right behind what it reads.
    inputs, users
        For each layer, the layers that it reads and that read it.
    live
        The layers that lead to the output, the output included.
    """

    name: str
    provenance: Provenance
    input_bytes: int
    layers: dict[str, Layer]
    inputs: Mapping[str, list[str]]
    users: Mapping[str, list[str]]
    live: frozenset[str]

    def total_bytes(self, layers: Iterable[str]) -> int:
        """Return the size of the outputs of these layers together."""
        return sum(self.layers[layer].output_bytes for layer in layers)

    @classmethod
    def of(
        cls,
        name: str,
        provenance: Provenance,
        layers: Mapping[str, Layer],
        edges: Mapping[tuple[str, str], str],
    ) -> Profile:
        """Order the layers of a file and set the inputs of the step apart.

        :math:`O(n^2)` bit operations.

        Parameters
        ----------
        name, provenance
            Of the profile.
        layers
            By identifier, in the order of the file.
        edges
            From a layer to one that reads it, with the field of the file that says so.

        Raises
        ------
        InputError
            If the edges form a cycle, or there is no layer besides the inputs.
        """
        inputs: dict[str, list[str]] = {layer: [] for layer in layers}
        for source, layer in edges:
            inputs[layer].append(source)
        cycle = find_cycle(inputs)
        if cycle:
            raise InputError(
                f"the edges form a cycle: {' -> '.join(cycle)}",
                field=edges[cycle[0], cycle[1]],
                expected="remove one of these edges",
            )
        given = [layer for layer in inputs if not inputs[layer] and layers[layer].may_be_input]
        inputs = {
            layer: [source for source in sources if source not in given]
            for layer, sources in inputs.items()
            if layer not in given
        }
        if not inputs:
            raise InputError(
                "there is no layer besides the inputs",
                field="layers",
                expected="give at least one layer that reads an input",
            )
        users: dict[str, list[str]] = {layer: [] for layer in inputs}
        for layer, sources in inputs.items():
            for source in sources:
                users[source].append(layer)
        order, live = _late_order(inputs, users)
        return cls(
            name=name,
            provenance=provenance,
            input_bytes=sum(layers[layer].output_bytes for layer in given),
            layers={layer: layers[layer] for layer in order},
            inputs=inputs,
            users=users,
            live=live,
        )


def _late_order(
    inputs: Mapping[str, list[str]], users: Mapping[str, list[str]]
) -> tuple[list[str], frozenset[str]]:
    """Return the order and the live layers that `Profile` describes."""
    bit = {layer: 1 << position for position, layer in enumerate(inputs)}
    ancestors: dict[str, int] = {}
    for layer in topological_order(inputs):
        ancestors[layer] = bit[layer]
        for source in inputs[layer]:
            ancestors[layer] |= ancestors[source]
    sinks = [layer for layer in inputs if not users[layer]]
    output = max(sinks, key=lambda layer: ancestors[layer].bit_count())
    live = frozenset(layer for layer in inputs if ancestors[output] & bit[layer])
    # Backwards from the output, a layer to which little leads comes first: so the side branches
    # stand next to what reads them, and no main layer between the two.
    fewest_first = sorted(live, key=lambda layer: (ancestors[layer].bit_count(), -bit[layer]))
    backwards = topological_order(
        {layer: [user for user in users[layer] if user in live] for layer in fewest_first}
    )
    dead = [layer for layer in inputs if layer not in live]
    order = topological_order({layer: inputs[layer] for layer in [*dead, *reversed(backwards)]})
    return order, live
