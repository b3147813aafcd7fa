"""Training steps of networks on four devices of one node."""

from __future__ import annotations

from jettison.instances.generators.perceptron_program import perceptron
from jettison.instances.remat_sharding.sharded_graph import ShardedGraph
from jettison.instances.tensor_programs.program_names import named_program
from jettison.instances.tensor_programs.program_on_mesh import on_v100_mesh
from jettison.instances.tensor_programs.tensor_program import TensorProgram


def small_perceptron() -> ShardedGraph:
    """Return a step of 26 operators whose weights are as large as its activations."""
    return _on_four("perceptron", perceptron())


def wide_perceptron() -> ShardedGraph:
    """Return one whose activations are four times as large as its weights."""
    return _on_four("wide perceptron", perceptron(6, 8192, 2048))


def encoder() -> ShardedGraph:
    """Return a step of an encoder of one layer: 151 operators."""
    return _on_four("encoder", named_program("encoder-1l"))


def _on_four(name: str, program: TensorProgram) -> ShardedGraph:
    return on_v100_mesh(program, (1, 4), 1, name)
