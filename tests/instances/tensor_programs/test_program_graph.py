"""Graphs of tensor programs."""

from __future__ import annotations

import pytest

from jettison.instances.core.errors import InputError
from jettison.instances.remat_sharding.operator import Role
from jettison.instances.tensor_programs.program_graph import program_graph
from jettison.instances.tensor_programs.program_names import named_program
from jettison.instances.tensor_programs.tensor_program import TensorOperation, TensorProgram


def program() -> TensorProgram:
    """Return the step of one layer: y = x w, its mean, and the gradient of w."""

    def tensor(name: str, role: Role, shape: tuple[int, ...]) -> TensorOperation:
        letters = "ab"[: len(shape)]
        return TensorOperation(
            name=name,
            role=role,
            primitive=str(role),
            subscripts=f"->{letters}",
            shape=shape,
            element_bytes=4,
        )

    return TensorProgram(
        "layer",
        (
            tensor("w", Role.PARAMETER, (8, 2)),
            tensor("x", Role.INPUT, (4, 8)),
            TensorOperation(
                name="y",
                role=Role.FORWARD,
                primitive="dot_general",
                operands=("x", "w"),
                subscripts="ab,bc->ac",
                shape=(4, 2),
                element_bytes=4,
                flops=128,
            ),
            TensorOperation(
                name="dw",
                role=Role.BACKWARD,
                primitive="dot_general",
                operands=("x", "y"),
                subscripts="ab,ac->bc",
                shape=(8, 2),
                element_bytes=4,
                flops=128,
                keep=True,
            ),
        ),
    )


def test_what_is_given_is_resident_and_what_is_computed_is_a_node() -> None:
    graph = program_graph(program(), flops_per_ns=10, bytes_per_ns=10, launch_ns=1)
    # w has 64 bytes and x 128.
    assert graph.resident_bytes == 192
    # y reads 128 and 64 bytes and writes 32: 23 ns; its 128 operations take 13. dw reads 128 and 32
    # and writes 64: 23 ns as well.
    assert [
        (node.name, node.duration_ns, node.output_bytes, node.inputs, node.backward, node.keep)
        for node in graph.nodes
    ] == [("y", 24, 32, (), False, False), ("dw", 24, 64, ("y",), True, True)]
    assert "10 bytes per ns" in str(graph.provenance.note)


def test_operations_limit_the_speed_where_they_take_longer_than_moving_bytes() -> None:
    graph = program_graph(program(), flops_per_ns=1, bytes_per_ns=1000, launch_ns=0)
    assert [node.duration_ns for node in graph.nodes] == [128, 128]


def test_a_traced_transformer_becomes_the_graph_of_its_step() -> None:
    traced = named_program("gpt-1l")
    graph = program_graph(traced)
    computed = [item for item in traced.operations if not item.role.is_computed_once]
    assert len(graph) == len(computed)
    parameters = [item for item in traced.operations if item.role is Role.PARAMETER]
    # Every parameter has a gradient of its size, and the loss is kept as well.
    kept = sorted(node.output_bytes for node in graph.nodes if node.keep)
    assert kept == sorted([4, *(item.size_bytes for item in parameters)])


@pytest.mark.parametrize(
    ("rates", "message"),
    [({"bytes_per_ns": 0}, "bytes_per_ns: 0"), ({"launch_ns": -1}, "launch_ns: -1")],
)
def test_rates_out_of_range_are_refused(rates: dict[str, int], message: str) -> None:
    with pytest.raises(InputError, match=message):
        program_graph(program(), **rates)
