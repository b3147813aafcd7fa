r"""Graph of a tensor program on one device, in the order of the program.

Parameters and inputs are resident and no nodes. With :math:`f` floating-point operations and
:math:`b` bytes read and written, an operation takes :math:`\max(f / F, b / B) + t`: the roofline of
a device with the rates :math:`F, B`, and a time :math:`t` for each launch. Compilers fuse
elementwise operations; here each is one of its own, and its value is in memory. Fold views first
(`fold_views`), or changes of shape are operations with copies.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from jettison.instances.core.errors import InputError
from jettison.instances.core.provenance import Provenance
from jettison.instances.remat_graph.graph import Graph, Node
from jettison.instances.remat_sharding.operator import Role
from jettison.instances.tensor_programs.tensor_program import TensorOperation, TensorProgram


def program_graph(
    program: TensorProgram,
    *,
    flops_per_ns: int = 15_500,
    bytes_per_ns: int = 1_555,
    launch_ns: int = 3_000,
) -> Graph:
    """Return the operations of a program with their sizes, and durations from a roofline.

    Parameters
    ----------
    program
        A training step, from `trace_training_step` say.
    flops_per_ns, bytes_per_ns, launch_ns
        Rates of the device; those of an A100 in single precision by default.

    Raises
    ------
    InputError
        If a rate is not positive, the launch takes negative time, or nothing is computed.

    Notes
    -----
    :math:`O(n + |E|)`.
    """
    for field, rate, least in (
        ("flops_per_ns", flops_per_ns, 1),
        ("bytes_per_ns", bytes_per_ns, 1),
        ("launch_ns", launch_ns, 0),
    ):
        if rate < least:
            raise InputError(f"{rate}", field=field, expected=f"write a whole number from {least}")

    def duration_ns(operation: TensorOperation) -> int:
        read = sum(program.named[name].size_bytes for name in operation.operands)
        moved = read + operation.size_bytes
        return max(-(-operation.flops // flops_per_ns), -(-moved // bytes_per_ns)) + launch_ns

    note = (
        f"no operation was measured: roofline of {flops_per_ns} floating-point operations and "
        f"{bytes_per_ns} bytes per ns, and {launch_ns} ns for each launch"
    )
    return graph_with_durations(
        program, duration_ns, replace(program.provenance, note=note), program.name
    )


def graph_with_durations(
    program: TensorProgram,
    duration_ns: Callable[[TensorOperation], int],
    provenance: Provenance,
    name: str,
) -> Graph:
    """Return the operations of a program with durations that are known from elsewhere."""
    computed = [item for item in program.operations if not item.role.is_computed_once]
    names = {item.name for item in computed}
    nodes = tuple(
        Node(
            name=item.name,
            duration_ns=duration_ns(item),
            output_bytes=item.size_bytes,
            inputs=tuple(dict.fromkeys(name for name in item.operands if name in names)),
            backward=item.role is Role.BACKWARD,
            keep=item.keep,
        )
        for item in computed
    )
    given = [item for item in program.operations if item.role.is_computed_once]
    resident_bytes = sum(item.size_bytes for item in given)
    return Graph(name, nodes, provenance=provenance, resident_bytes=resident_bytes)
