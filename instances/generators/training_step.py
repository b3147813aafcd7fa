"""Graph of a training step, from the shapes of a network's layers.

No device was measured: a duration is the operations of a layer over a rate, a size is the bytes of
its output. So the structure and the proportions are those of the network, and the same parameters
give the same graph on any machine.

Every operation has one backward operation, in the opposite order. It takes twice as long; it reads
the inputs and the output of the operation and the gradients of all that read that output, and makes
the gradients of its inputs. A loss that reads the last operation comes between the two passes.
"""

from __future__ import annotations

from math import prod

from jettison.instances.core.errors import InputError
from jettison.instances.core.provenance import Provenance
from jettison.instances.remat_graph.graph import Graph, Node

# Single precision; and a rate that takes a tenth of a picosecond for each operation.
_BYTES = 4
_OPERATIONS_PER_NS = 10_000
LARGEST_BATCH = 2**20


class TrainingStep:
    """Builder of the graph of a training step from the forward operations of one sample.

    Parameters
    ----------
    name
        Name of the graph.
    batch
        Samples in a step.

    Attributes
    ----------
    shapes
        Output shape of each operation for one sample, in the order in which they were added.

    Raises
    ------
    InputError
        If the batch is out of range.
    """

    def __init__(self, name: str, batch: int) -> None:
        if not 1 <= batch <= LARGEST_BATCH:
            raise InputError(f"{batch}", field="batch", expected=f"write 1 to {LARGEST_BATCH}")
        self.name = name
        self.batch = batch
        self.shapes: dict[str, tuple[int, ...]] = {}
        self._inputs: dict[str, tuple[str, ...]] = {}
        self._operations: dict[str, int] = {}

    def add(self, name: str, inputs: tuple[str, ...], shape: tuple[int, ...], work: int) -> str:
        """Add a node with its number of operations for each sample; return its name."""
        self.shapes[name], self._inputs[name], self._operations[name] = shape, inputs, work
        return name

    def convolution(
        self,
        name: str,
        source: str,
        channels: int,
        *,
        size: int = 3,
        stride: int = 1,
        groups: int = 1,
    ) -> str:
        """Add a convolution of square windows, with its normalisation and activation."""
        before, height, width = self.shapes[source]
        shape = (channels, height // stride, width // stride)
        return self.add(name, (source,), shape, 2 * size * size * (before // groups) * prod(shape))

    def dense(self, name: str, source: str, width: int) -> str:
        """Add a fully connected layer with its activation."""
        return self.add(name, (source,), (width,), 2 * width * prod(self.shapes[source]))

    def pool(self, name: str, source: str, stride: int = 2) -> str:
        """Add a maximum or average pooling of square windows."""
        channels, height, width = self.shapes[source]
        shape = (channels, height // stride, width // stride)
        return self.add(name, (source,), shape, stride * stride * prod(shape))

    def graph(self) -> Graph:
        """Return the graph, with a loss that reads the last node."""
        shapes, inputs, operations = dict(self.shapes), dict(self._inputs), dict(self._operations)
        last = list(shapes)[-1]
        shapes["loss"], inputs["loss"], operations["loss"] = (1,), (last,), prod(shapes[last])
        size = {name: _BYTES * self.batch * prod(shape) for name, shape in shapes.items()}
        gradients: dict[str, list[str]] = {name: [] for name in shapes}
        for name, read in inputs.items():
            for source in read:
                gradients[source].append(f"grad_{name}")
        duration_ns = {
            name: self.batch * work // _OPERATIONS_PER_NS for name, work in operations.items()
        }
        forward = [
            Node(
                name=name,
                duration_ns=duration_ns[name],
                output_bytes=size[name],
                inputs=inputs[name],
            )
            for name in shapes
        ]
        backward = [
            Node(
                name=f"grad_{name}",
                duration_ns=2 * duration_ns[name],
                output_bytes=sum(size[source] for source in inputs[name]),
                inputs=(*inputs[name], name, *gradients[name]),
                backward=True,
            )
            for name in reversed(shapes)
        ]
        provenance = Provenance(
            source="synthetic", model=self.name, batch=self.batch, dtype="float32"
        )
        return Graph(self.name, (*forward, *backward), provenance=provenance)
