r"""Tensor program: a training step as operations on tensors, with the axes of each.

The axes of an operation are written as subscripts, as for ``einsum``: ``bsd,dh->bsh`` reads two
tensors, runs over :math:`b, s, d, h`, and adds up over :math:`d`. The same notation describes every
kind of operation:

===================  ====================  =====================================================
operation            subscripts            reading
===================  ====================  =====================================================
matrix product       ``mk,kn->mn``         :math:`k` is contracted
batched product      ``bmk,bkn->bmn``
elementwise          ``ab,b->ab``          the second operand is broadcast
reduction            ``ab->a``             over :math:`b`
transposition        ``ab->ba``
merged dimensions    ``bh.->bh``           the major dimension names the merged one
convolution          ``bc..,oc..->bo..``   a dot is a dimension that is never split
parameter, input     ``->ab``
===================  ====================  =====================================================

A mesh splits an axis into equal, contiguous parts, where its number of devices divides the size of
every dimension with that letter. That is exact for a merged dimension: parts of the major dimension
are contiguous parts of the merged one.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from jettison.instances.core.errors import InputError
from jettison.instances.core.instance_document import InstanceDocument, read_each, read_provenance
from jettison.instances.core.names import checked_name, checked_unique
from jettison.instances.core.provenance import Provenance
from jettison.instances.core.units import checked_amount
from jettison.instances.remat_sharding.operator import Role

UNSPLIT = "."


@dataclass(frozen=True, slots=True, kw_only=True)
class TensorOperation:
    """Operation of a tensor program: operands, result, and the axes that it runs over.

    Attributes
    ----------
    name
        Unique within the program.
    role
        Role in the training step; parameters and inputs read nothing.
    primitive
        The kind of operation, ``dot_general`` say.
    subscripts
        The axes of each operand and of the result; see the module.
    shape
        Shape of the result.
    operands
        Names of the values that it reads, in the order of the subscripts; a value that is read in
        two forms stands twice.
    element_bytes
        Bytes of one number of the result.
    flops
        Arithmetic operations on one device that does all of the work.
    keep
        True if the result must be in memory at the end.
    scope
        Scope in the model, such as a layer.

    Raises
    ------
    InputError
        If a name, a size or the subscripts are wrong.
    """

    name: str
    role: Role
    primitive: str
    subscripts: str
    shape: tuple[int, ...]
    operands: tuple[str, ...] = ()
    element_bytes: int = 4
    flops: int = 0
    keep: bool = False
    scope: str = ""

    def __post_init__(self) -> None:
        checked_name(self.name, "name")
        checked_name(self.primitive, "primitive")
        if self.scope:
            checked_name(self.scope, "scope")
        for place, size in enumerate(self.shape):
            if checked_amount(size, f"shape[{place}]", "elements") == 0:
                raise InputError(
                    "an empty tensor", field=f"shape[{place}]", expected="leave the operation out"
                )
        checked_amount(self.element_bytes, "element_bytes", "bytes")
        checked_amount(self.flops, "flops", "operations")
        if self.role.is_computed_once and self.operands:
            raise InputError(
                f"{self.name!r} is a {self.role} and reads {self.operands[0]!r}",
                field="operands",
                expected="give operands to forward and backward operations only",
            )
        left, arrow, right = self.subscripts.partition("->")
        texts = left.split(",") if self.operands else []
        letters = all(
            (part.isascii() and part.isalpha() and len(set(part)) == len(part)) or not part
            for part in (text.replace(UNSPLIT, "") for text in (*texts, right))
        )
        if (
            arrow != "->"
            or not letters
            or len(texts) != len(self.operands)
            or (left and not self.operands)
            or len(right) != len(self.shape)
        ):
            raise InputError(
                f"{self.subscripts!r} for {len(self.operands)} operands and {len(self.shape)} "
                "dimensions of the result",
                field="subscripts",
                expected="write a different letter for each dimension, or a dot, as in mk,kn->mn",
            )

    @property
    def operand_axes(self) -> tuple[str, ...]:
        """For each operand the axis of each dimension."""
        return tuple(self.subscripts.partition("->")[0].split(",")) if self.operands else ()

    @property
    def result_axes(self) -> str:
        """The axis of each dimension of the result."""
        return self.subscripts.partition("->")[2]

    def axes(self, shapes: Sequence[tuple[int, ...]]) -> dict[str, int]:
        """Return the axes, each with the size that its parts must divide; `shapes` of the operands.

        The axes of the result come first. A merged dimension and its major part share an axis, and
        both must be divided into equal parts: the greatest common divisor of the sizes.
        """
        found: dict[str, int] = {}
        tensors = zip((self.result_axes, *self.operand_axes), (self.shape, *shapes), strict=True)
        for axes, shape in tensors:
            for axis, size in zip(axes, shape, strict=True):
                if axis != UNSPLIT:
                    found[axis] = math.gcd(found.get(axis, 0), size)
        return found

    @property
    def size_bytes(self) -> int:
        """Bytes of the whole result."""
        return math.prod(self.shape) * self.element_bytes

    def to_json(self) -> dict[str, object]:
        """Return the operation as a JSON object, without fields that have their default."""
        document: dict[str, object] = {
            "name": self.name,
            "role": str(self.role),
            "primitive": self.primitive,
            "subscripts": self.subscripts,
            "shape": list(self.shape),
        }
        if self.operands:
            document["operands"] = list(self.operands)
        if self.element_bytes != 4:
            document["element_bytes"] = self.element_bytes
        if self.flops:
            document["flops"] = self.flops
        if self.keep:
            document["keep"] = True
        if self.scope:
            document["scope"] = self.scope
        return document

    @classmethod
    def from_json(cls, entry: Mapping[str, Any]) -> TensorOperation:
        """Build the operation from parsed JSON that has passed the schema.

        Raises
        ------
        InputError
            As the constructor.
        """
        return cls(
            **{
                **entry,
                "role": Role(entry["role"]),
                "shape": tuple(entry["shape"]),
                "operands": tuple(entry.get("operands", [])),
            }
        )


@dataclass(frozen=True)
class TensorProgram(InstanceDocument):
    """Tensor program: the operations of a training step, in a topological order.

    Attributes
    ----------
    name
        Name of the program.
    operations
        At least one; parameters and inputs among them.
    provenance
        Provenance of the program.

    Raises
    ------
    InputError
        If a name occurs twice, an operand is not the name of an operation before, or subscripts do
        not match the dimensions of an operand.
    """

    kind = "tensor-program"

    name: str
    operations: tuple[TensorOperation, ...]
    provenance: Provenance = field(default_factory=Provenance, compare=False)

    def __post_init__(self) -> None:
        checked_name(self.name, "name")
        if not self.operations:
            raise InputError(
                "the program is empty", field="operations", expected="give at least one operation"
            )
        checked_unique([operation.name for operation in self.operations], "operations")
        shapes: dict[str, tuple[int, ...]] = {}
        for position, operation in enumerate(self.operations):
            for place, (name, axes) in enumerate(
                zip(operation.operands, operation.operand_axes, strict=True)
            ):
                if name not in shapes:
                    raise InputError(
                        f"{name!r} is not an operation before {operation.name!r}",
                        field=f"operations[{position}].operands[{place}]",
                        expected="list every operation after what it reads",
                    )
                if len(axes) != len(shapes[name]):
                    raise InputError(
                        f"{axes!r} for the {len(shapes[name])} dimensions of {name!r}",
                        field=f"operations[{position}].subscripts",
                        expected="write one letter or dot for each dimension",
                    )
            shapes[operation.name] = operation.shape

    def __len__(self) -> int:
        return len(self.operations)

    @cached_property
    def named(self) -> Mapping[str, TensorOperation]:
        """The operations by name."""
        return {operation.name: operation for operation in self.operations}

    def axes(self, operation: TensorOperation) -> dict[str, int]:
        """Return the axes of an operation, each with the size that its parts must divide."""
        return operation.axes([self.named[name].shape for name in operation.operands])

    def content(self) -> dict[str, object]:
        """Return the fields of the JSON object that schedules depend on."""
        return {
            "operations": [operation.to_json() for operation in self.operations],
        }

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> TensorProgram:
        """Build the program from parsed JSON that has passed the schema.

        Raises
        ------
        InputError
            If a value contradicts another; the field is named by its path.
        """
        return cls(
            document["name"],
            read_each(document, "operations", TensorOperation.from_json),
            read_provenance(document),
        )
