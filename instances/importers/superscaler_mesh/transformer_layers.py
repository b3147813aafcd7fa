"""Operators of a GPT as SuperScaler measured them: what each reads, and the ways to split it.

A tensor is whole on each device or split into equal parts, along the axis along which its operator
splits it. *Column* splits the outputs of a matrix product, *row* its inputs, so that the parts of
the result have to be added up; *heads* splits attention by its heads, *vocabulary* the tables of
words. Normalisations and dropouts on the hidden state are whole.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import Enum, auto
from types import MappingProxyType


@dataclass(frozen=True, slots=True)
class Split:
    """Way to split an operator over the devices.

    Attributes
    ----------
    name
        Name of the strategy.
    algorithm
        Which of the two profiles has it, 0 or 1; None for one device's profile.
    input_is_split, output_is_split
        Whether each device has a part of the input, and makes a part of the output.
    adds_output, adds_gradient
        Whether parts of the output, or of the gradient of the input, are added up: an all-reduce
        that is part of the measured time.
    """

    name: str
    algorithm: int | None
    input_is_split: bool = False
    output_is_split: bool = False
    adds_output: bool = False
    adds_gradient: bool = False


WHOLE = Split("whole", None)
_COLUMN = Split("column", 0, output_is_split=True, adds_gradient=True)
_ROW = Split("row", 0, input_is_split=True, adds_output=True)
_HEADS = Split("heads", 0, input_is_split=True, output_is_split=True)
_HIDDEN_UNITS = Split("column", 0, input_is_split=True, output_is_split=True)


class Saved(Enum):
    """Part of what a forward operator read and made that its backward operator reads."""

    INPUT = auto()
    OUTPUT = auto()
    BOTH = auto()


@dataclass(frozen=True, slots=True)
class Kind:
    """Kind of operator.

    Attributes
    ----------
    reads
        Rows of the profile that it reads; ``hidden`` is the hidden state before it, whatever makes
        it.
    splits
        Ways to split it, the whole one first.
    follows
        Row whose choice is its own.
    hidden_carried
        Whether its output column counts the hidden state of the layer, which passes by.
    values_carried
        Whether the output column counts the values of attention, a third of the output of
        ``enc-attention-qkv``.
    saves
        Whether its backward operator reads what it read, as those of products of matrices do, what
        it made, as those of dropouts and of a softmax, or both.
    """

    reads: tuple[str, ...]
    splits: tuple[Split, ...] = (WHOLE,)
    follows: str | None = None
    hidden_carried: bool = True
    values_carried: bool = False
    saves: Saved = Saved.INPUT


_ATTENTION = "enc-attention-score"
HIDDEN = "hidden"
LAYER: Mapping[str, Kind] = MappingProxyType(
    {
        "enc-1st-layernorm": Kind((HIDDEN,), saves=Saved.BOTH),
        "enc-attention-qkv": Kind(
            ("enc-1st-layernorm",),
            (WHOLE, _COLUMN, Split("row", 1, input_is_split=True, adds_output=True)),
        ),
        "enc-attention-score": Kind(("enc-attention-qkv",), (WHOLE, _HEADS), values_carried=True),
        "enc-attention-softmax": Kind(
            ("enc-attention-score",),
            (WHOLE, _HEADS),
            _ATTENTION,
            values_carried=True,
            saves=Saved.OUTPUT,
        ),
        "enc-attention-dropout": Kind(
            ("enc-attention-softmax",),
            (WHOLE, _HEADS),
            _ATTENTION,
            values_carried=True,
            saves=Saved.OUTPUT,
        ),
        "enc-attention-context": Kind(
            ("enc-attention-dropout", "enc-attention-qkv"), (WHOLE, _HEADS), _ATTENTION
        ),
        "enc-attention-dense": Kind(("enc-attention-context",), (WHOLE, _ROW)),
        "enc-post-attention-dropout": Kind(
            ("enc-attention-dense", HIDDEN), hidden_carried=False, saves=Saved.OUTPUT
        ),
        "enc-2nd-layernorm": Kind((HIDDEN,), saves=Saved.BOTH),
        "enc-MLP-GEMM-1": Kind(("enc-2nd-layernorm",), (WHOLE, _COLUMN)),
        "enc-MLP-gelu": Kind(("enc-MLP-GEMM-1",), (WHOLE, _HIDDEN_UNITS)),
        "enc-MLP-GEMM-2": Kind(("enc-MLP-gelu",), (WHOLE, _ROW)),
        "enc-post-MLP-dropout": Kind(
            ("enc-MLP-GEMM-2", HIDDEN), hidden_carried=False, saves=Saved.OUTPUT
        ),
    }
)
"""The rows of a layer. Both of its dropouts make the hidden state that is read after them."""
FIRST, LAST = "encoder-embedding", "gpt-post-process"
AROUND: Mapping[str, Kind] = MappingProxyType(
    {
        FIRST: Kind(
            (),
            (WHOLE, Split("vocabulary", 0, adds_output=True)),
            hidden_carried=False,
            saves=Saved.OUTPUT,
        ),
        "final-layernorm": Kind((HIDDEN,), hidden_carried=False, saves=Saved.BOTH),
        LAST: Kind(
            ("final-layernorm",),
            (WHOLE, Split("vocabulary", 0, output_is_split=True, adds_gradient=True)),
            hidden_carried=False,
            saves=Saved.BOTH,
        ),
    }
)
ROWS = (FIRST, *LAYER, *(row for row in AROUND if row != FIRST))


@dataclass(frozen=True, slots=True)
class Placed:
    """Operator at its place in the model; `reads` and `follows` are names of such."""

    name: str
    row: str
    kind: Kind
    reads: tuple[str, ...]
    follows: str | None
    scope: str


def operators_of(layers: int) -> Iterator[Placed]:
    """Yield the forward operators of a model with so many layers, in order."""
    hidden = FIRST
    yield Placed(FIRST, FIRST, AROUND[FIRST], (), None, FIRST)
    for number in range(1, layers + 1):
        for row, kind in LAYER.items():
            names = [hidden if read == HIDDEN else f"{read} {number}" for read in kind.reads]
            follows = None if kind.follows is None else f"{kind.follows} {number}"
            name = f"{row} {number}"
            yield Placed(name, row, kind, tuple(names), follows, f"layer {number}")
            if not kind.hidden_carried:
                hidden = name
    for row in ROWS[-2:]:
        kind = AROUND[row]
        reads = tuple(hidden if read == HIDDEN else read for read in kind.reads)
        yield Placed(row, row, kind, reads, None, row)
