r"""Training step of a network, and its profile for each number of fused models.

A network is described by its forward operations: the kernels of each, the values that it reads and
makes, and how gradients come back through it. Backward operations follow, in the opposite order:

- the gradient of a value is what the backward operations of all that read it make; where there are
  several, an operation adds (or joins) them first;
- each `Gradient` of an operation becomes a backward operation, which reads the gradient of the
  operation's value and the forward values that it names;
- an operation hands on the gradient of its value unchanged to the inputs named in `passes`: a sum.

Gradients of weights are written to memory that is resident, as are weights and batch: the static
memory of a model is twice its parameters, for plain gradient descent, and its batch. The loss is
the last operation.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from jettison.instances.core.errors import InputError
from jettison.instances.core.provenance import Provenance, Scalar
from jettison.instances.generators.fused_networks.device import (
    A100,
    NUMBER_BYTES,
    AssumedDevice,
    Kernel,
    elementwise,
)
from jettison.instances.multi_model.fused_profile import fused_profile
from jettison.instances.multi_model.instance import LARGEST_MODELS, MultiModel
from jettison.instances.remat_graph.graph import Graph, Node

LARGEST_BATCH = 2**12


@dataclass(frozen=True, slots=True)
class Gradient:
    """One backward operation of a forward operation.

    Attributes
    ----------
    of
        The value whose gradient it makes; None for the weights.
    reads
        Forward values that it needs.
    kernels
        Kernels that it launches.
    size_bytes
        Size of its result, where that is a part of the gradient; None for all of it.
    shared_with
        More values that have the same gradient, the other terms of a sum.
    """

    of: str | None
    reads: tuple[str, ...]
    kernels: tuple[Kernel, ...]
    size_bytes: int | None = None
    shared_with: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Operation:
    reads: tuple[str, ...]
    kernels: tuple[Kernel, ...]
    gradients: tuple[Gradient, ...]
    passes: tuple[str, ...]


class FusedStep:
    """Builder of a training step: collects the forward operations of one model.

    Parameters
    ----------
    batch
        Samples in a step of one model.

    Attributes
    ----------
    batch
        Samples in a step of one model.
    size_bytes
        Size of the value of each operation, in the order in which they were added.
    parameters
        Number of parameters of the model so far.

    Raises
    ------
    InputError
        If the batch is out of range.
    """

    def __init__(self, batch: int) -> None:
        if not 1 <= batch <= LARGEST_BATCH:
            raise InputError(f"{batch}", field="batch", expected=f"write 1 to {LARGEST_BATCH}")
        self.batch = batch
        self.size_bytes: dict[str, int] = {}
        self.parameters = 0
        self._operations: dict[str, _Operation] = {}

    def add(
        self,
        name: str,
        reads: tuple[str, ...],
        size_bytes: int,
        kernels: tuple[Kernel, ...],
        gradients: tuple[Gradient, ...] = (),
        passes: tuple[str, ...] = (),
    ) -> str:
        """Add an operation and return its name, which is that of its value as well."""
        self.size_bytes[name] = size_bytes
        self._operations[name] = _Operation(reads, kernels, gradients, passes)
        return name

    def graph(self, name: str, models: int, device: AssumedDevice = A100) -> Graph:
        """Return the graph of the step of several models, fused."""

        def node(
            title: str, size_bytes: int, reads: tuple[str, ...], kernels: tuple[Kernel, ...]
        ) -> Node:
            return Node(
                name=title,
                duration_ns=sum(kernel.duration_ns(models, device) for kernel in kernels),
                output_bytes=models * size_bytes,
                inputs=tuple(dict.fromkeys(reads)),
                backward=title not in self._operations,
            )

        nodes = [
            node(title, self.size_bytes[title], operation.reads, operation.kernels)
            for title, operation in self._operations.items()
        ]
        parts: dict[str, list[tuple[str, int]]] = {title: [] for title in self._operations}
        loss = next(reversed(self._operations))
        for title, operation in reversed(self._operations.items()):
            if not (operation.gradients or operation.passes):
                continue
            known = parts[title]
            if len(known) > 1:
                size_bytes = self.size_bytes[title]
                total = f"d_{title}"
                moved_bytes = size_bytes + sum(part_bytes for _, part_bytes in known)
                reads = tuple(part for part, _ in known)
                nodes.append(node(total, size_bytes, reads, (elementwise(moved_bytes),)))
                known = [(total, size_bytes)]
            elif not known and title != loss:
                raise ValueError(f"nothing reads {title}")
            for number, gradient in enumerate(operation.gradients):
                # The weights come last; their gradient belongs to the static memory.
                mark = "w" if gradient.of is None else "" if number == 0 else str(number)
                made = f"b{mark}_{title}"
                made_bytes = 0
                if gradient.of is not None:
                    made_bytes = gradient.size_bytes or self.size_bytes[gradient.of]
                    for value in (gradient.of, *gradient.shared_with):
                        parts[value].append((made, made_bytes))
                reads = (*gradient.reads, *(part for part, _ in known))
                nodes.append(node(made, made_bytes, reads, gradient.kernels))
            for source in operation.passes:
                parts[source] += known
        return Graph(name, tuple(nodes))

    def multi_model(
        self,
        name: str,
        models: int,
        *,
        network: str,
        input_shape: tuple[int, ...],
        arguments: Mapping[str, Scalar],
        device: AssumedDevice = A100,
    ) -> MultiModel:
        """Return the instance of several models, with a profile for each number up to that.

        Raises
        ------
        InputError
            If there are too many models.
        """
        if not 1 <= models <= LARGEST_MODELS:
            raise InputError(f"{models}", field="models", expected=f"write 1 to {LARGEST_MODELS}")
        batch_bytes = NUMBER_BYTES
        for length in input_shape:
            batch_bytes *= length
        one_bytes = 2 * NUMBER_BYTES * self.parameters + batch_bytes
        sizes = range(1, models + 1)
        return fused_profile(
            name,
            {size: self.graph(f"{name} {size}", size, device) for size in sizes},
            {size: size * one_bytes for size in sizes},
            bandwidth=device.link_bytes_per_s,
            provenance=Provenance(
                source="synthetic",
                device=device.name,
                device_kind="cuda",
                model=network,
                model_arguments={**arguments, "parameters": self.parameters},
                batch=self.batch,
                input_shape=input_shape,
                dtype="float32",
                note="computed from the shapes of the layers, no device was measured; assumed: "
                f"{device.processors} processors of {device.tile_flops_per_ns} operations per ns, "
                f"device memory of {device.memory_bytes_per_ns} bytes per ns, "
                f"{device.launch_ns} ns for each launch; "
                "static memory: weights, their gradients, batch",
            ),
        )
