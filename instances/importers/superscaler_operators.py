"""Operators of a profile of SuperScaler (Aceso), read from its table and checked.

The table has a header and a row for each operator of the forward pass, in order: times in
microseconds, sizes in MiB with three decimals, which become the nearest whole bytes::

    op_name,forward-compute,backward-compute,input_size,output_size,weights,activations,fwd_reserved,bwd_reserved
    enc-MLP-GEMM-1,866.761,1476.009,16.000,40.016,32.000,32.000,0.000,128.000

Runs that failed have 10000000 in place of a time or size; such a profile is refused.
"""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple

from jettison.instances.core.errors import InputError
from jettison.instances.core.names import checked_name
from jettison.instances.core.units import BYTE_UNITS, NANOSECOND_UNITS, checked_amount
from jettison.instances.importers.exact_numbers import number_of_text

_COLUMNS = (
    *("op_name", "forward-compute", "backward-compute", "input_size", "output_size"),
    *("weights", "activations", "fwd_reserved", "bwd_reserved"),
)
# Failed runs hold 10^7 (microseconds or MiB); no operator takes nine seconds or TiB.
_FAILED = 9 * 10**6


class Operator(NamedTuple):
    """One operator of the forward pass and its backward operator.

    `activation_bytes` is what the allocator gained, `input_bytes` and `output_bytes` are all
    tensors that pass, those for later operators included; the last two are what it had reserved in
    addition while each ran.
    """

    name: str
    field: str
    forward_ns: int
    backward_ns: int
    input_bytes: int
    output_bytes: int
    weight_bytes: int
    activation_bytes: int
    forward_reserved_bytes: int
    backward_reserved_bytes: int


def read_operators(text: str) -> list[Operator]:
    """Return the operators of a profile.

    Raises
    ------
    InputError
        If the header differs, a row has more or fewer columns, a value is not a number or that
        of a failed run, an operator stands twice, or there is none; the field is the line.
    """
    lines = text.splitlines()
    if not lines or tuple(lines[0].strip().split(",")) != _COLUMNS:
        raise InputError(
            "the header differs", field="line 1", expected=f"write {','.join(_COLUMNS)}"
        )
    operators: dict[str, Operator] = {}
    for number, line in enumerate(lines[1:], start=2):
        if not line.strip():
            continue
        operator = _operator(line, f"line {number}")
        if operator.name in operators:
            raise InputError(
                f"{operator.name!r} stands twice",
                field=operator.field,
                expected="give each operator one row; repeated layers stand there once",
            )
        operators[operator.name] = operator
    if not operators:
        raise InputError(
            "there is no operator", field="line 2", expected="give at least one operator"
        )
    return list(operators.values())


def _operator(line: str, field: str) -> Operator:
    texts = line.strip().split(",")
    if len(texts) != len(_COLUMNS):
        raise InputError(
            f"{len(texts)} columns", field=field, expected=f"give {len(_COLUMNS)}, as in line 1"
        )
    amounts = []
    for column, text in zip(_COLUMNS[1:], texts[1:], strict=True):
        where = f"{field}: {column}"
        is_time = column.endswith("-compute")
        unit = NANOSECOND_UNITS["us"] if is_time else BYTE_UNITS["MiB"]
        amounts.append(
            checked_amount(
                round(_measured(text, where) * unit), where, "nanoseconds" if is_time else "bytes"
            )
        )
    return Operator(checked_name(texts[0], f"{field}: op_name"), field, *amounts)


def _measured(text: str, field: str) -> Fraction:
    number = number_of_text(text, field)
    if number > _FAILED:
        raise InputError(
            f"{text[:40]} stands for a run that failed",
            field=field,
            expected="profile this operator again, with less memory",
        )
    return number
