r"""Importer of SuperScaler's operator profiles (Aceso): two stages for each transformer layer.

The table is described in `jettison.instances.importers.superscaler_operators`; Sailor's files of
operators have the same form. What it means here:

**Stages.** A stage ends with an operator whose output is the hidden state alone: the embeddings,
the dropout behind attention and the one behind the MLP, the normalisation at the end, and in
ResNets the activation of each block. So a transformer layer is a stage of attention and one of the
MLP; T5's decoder has a third for the attention to the encoder. The layer stands in the table once
and is repeated. What comes last is the loss, whose output is not counted.

**Times and sizes.** Times, weights and the gains of the allocator add up: the gains are the saved
bytes, at least the output. It is an upper bound of what is saved. Between stages passes what the
next one reads, in T5's decoder the output of the encoder too, which each stage carries along.

**Overheads.** Let :math:`g_k` be the gain, :math:`r_k` what is reserved in addition and :math:`i_k`
the input of operator :math:`k`. The forward overhead is the largest of
:math:`\sum_{j \le k} g_j + r_k - \bar a`, where everything is kept, and
:math:`i_k + g_k + r_k - a^{\ell-1} - a^\ell`, where only the output is. The backward overhead is
the largest that a backward operator reserved; it holds the gradient that the operator writes.

Sources: github.com/microsoft/SuperScaler; Liu et al., Aceso: Efficient Parallel DNN Training
through Iterative Bottleneck Alleviation (EuroSys 2024).
"""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from jettison.instances.core.errors import InputError
from jettison.instances.core.json_file import read_text
from jettison.instances.core.provenance import Provenance
from jettison.instances.core.units import check_range
from jettison.instances.importers.superscaler_operators import Operator, read_operators
from jettison.instances.importers.superscaler_published import Run, run_of
from jettison.instances.remat_chain.chain import Chain, Stage

MOST_LAYERS = 1000
_ENDS = re.compile(
    r"(encoder|decoder)-embedding|(enc|dec)-post-(attention|MLP)-dropout(-[0-9])?"
    r"|((enc|dec)-)?final-layernorm|maxpool|block-[0-9]+-[0-9]+-relu"
)
_LAYER_BEGINS = re.compile(r"(?P<stack>enc|dec)-1st-layernorm")
_ATTENTION = re.compile(r"(enc|dec)-post-attention-dropout(?P<which>-[0-9])?")
_MLP = re.compile(r"(enc|dec)-post-MLP-dropout")


class _Group(NamedTuple):
    """Operators of a stage, and the stage's name."""

    name: str
    operators: tuple[Operator, ...]

    @property
    def first(self) -> Operator:
        return self.operators[0]

    @property
    def last(self) -> Operator:
        return self.operators[-1]


def import_superscaler(
    path: str | Path, *, layers: int | None = None, device: str | None = None
) -> Chain:
    """Read an operator profile as a chain; :math:`O(n)` for n operators of all layers.

    Parameters
    ----------
    path
        The table; the names of published ones say model, microbatch and degree:
        ``gpt_1_3B_mbs1_tp1_algo0.csv``.
    layers
        Layers of the encoder, and of the decoder. It is known of the published profiles.
    device
        Name of the device, for the provenance; it is known of the published profiles.

    Raises
    ------
    InputError
        If the file cannot be read or is no such table, a run failed, the number of layers is
        needed or nothing is repeated, or a stage does not write what the next one reads; the
        message names the file and the line.
    """
    path = Path(path)
    text = read_text(path)
    run = run_of(text, path.stem, device)
    try:
        groups = _groups(read_operators(text))
        return _chain(_repeated(groups, run.layers if layers is None else layers), run)
    except InputError as error:
        raise error.within(source=str(path)) from None


def _groups(operators: list[Operator]) -> list[_Group]:
    groups: list[_Group] = []
    gathered: list[Operator] = []
    for place, operator in enumerate(operators):
        gathered.append(operator)
        if _ENDS.fullmatch(operator.name) or place == len(operators) - 1:
            groups.append(_Group(_name(operator), tuple(gathered)))
            gathered = []
    return groups


def _name(last: Operator) -> str:
    """Return the name of a stage that ends with an operator."""
    if attention := _ATTENTION.fullmatch(last.name):
        return f"{attention[1]} attention{attention['which'] or ''}"
    if _MLP.fullmatch(last.name):
        return f"{last.name[:3]} MLP"
    return last.name.removesuffix("-relu")


def _repeated(groups: list[_Group], layers: int | None) -> list[_Group]:
    """Return the groups in the order in which they run, each layer with its number."""
    result: list[_Group] = []
    place = 0
    repeats = 0
    while place < len(groups):
        begin = _LAYER_BEGINS.fullmatch(groups[place].first.name)
        if begin is None:
            result.append(groups[place])
            place += 1
            continue
        end = f"{begin['stack']}-post-MLP-dropout"
        ends = [at for at in range(place, len(groups)) if groups[at].last.name == end]
        if not ends:
            raise InputError(
                "the layer that begins here has no end",
                field=groups[place].first.field,
                expected=f"end it with {end}",
            )
        layer = groups[place : ends[0] + 1]
        result += _copies(layer, layers)
        place = ends[0] + 1
        repeats += 1
    if not repeats and layers is not None:
        raise InputError(
            f"{layers}", field="layers", expected="leave it out: no layer of this profile repeats"
        )
    return result


def _copies(layer: list[_Group], layers: int | None) -> list[_Group]:
    if layers is None:
        raise InputError(
            "the profile has one layer of each kind, but not how many layers there are",
            field="layers",
            expected="give the number of layers (--layers 24)",
        )
    check_range("layers", layers, 1, MOST_LAYERS)
    written, read = layer[-1].last.output_bytes, layer[0].first.input_bytes
    if written != read and layers > 1:
        raise InputError(
            f"the layer writes {written} bytes and reads {read}",
            field=layer[-1].last.field,
            expected="a layer that repeats writes what it reads: give a profile of algo0",
        )
    return [
        group._replace(name=f"{group.name} {number}")
        for number in range(1, layers + 1)
        for group in layer
    ]


def _chain(groups: list[_Group], run: Run) -> Chain:
    stages = []
    for place, group in enumerate(groups):
        following = groups[place + 1] if place + 1 < len(groups) else None
        stages.append(_stage(group, following))
    return Chain(
        name=run.name,
        input_bytes=groups[0].first.input_bytes,
        stages=tuple(stages),
        backward_overhead_holds_gradient=True,
        provenance=_provenance(run, groups),
    )


def _stage(group: _Group, following: _Group | None) -> Stage:
    output = 0
    if following is not None:
        # At the end of T5's decoder the output of the encoder is no longer read.
        output = following.first.input_bytes
        if output > group.last.output_bytes:
            raise InputError(
                f"it writes {group.last.output_bytes} bytes, and {following.first.name} reads "
                f"{output}",
                field=group.last.field,
                expected="a stage reads what the one before it writes",
            )
    gain = sum(operator.activation_bytes for operator in group.operators)
    saved = max(gain, output)
    around = group.first.input_bytes + output
    overhead = gained = 0
    for operator in group.operators:
        gained += operator.activation_bytes
        alone = operator.input_bytes + operator.activation_bytes - around
        overhead = max(overhead, max(gained - saved, alone) + operator.forward_reserved_bytes)
    return Stage(
        name=group.name,
        forward_ns=sum(operator.forward_ns for operator in group.operators),
        backward_ns=sum(operator.backward_ns for operator in group.operators),
        output_bytes=output,
        saved_bytes=saved,
        forward_overhead_bytes=overhead,
        backward_overhead_bytes=max(
            operator.backward_reserved_bytes for operator in group.operators
        ),
        weight_bytes=sum(operator.weight_bytes for operator in group.operators),
    )


def _provenance(run: Run, groups: list[_Group]) -> Provenance:
    different = len({group.operators for group in groups})
    remarks = [
        "Measured: the times of each operator, run alone and not in a step; what the caching "
        "allocator gained (an upper bound of what is saved), and what it reserved in addition, "
        "with the gradients of the measuring program.",
        f"Repeated: {len(groups)} stages have {different} different measurements.",
        "Rounded: sizes, to 0.001 MiB.",
    ]
    if run.degree > 1:
        remarks.append("The share of one device; communication is left out.")
    if groups[-1].last.output_bytes:
        remarks.append("The loss is not timed.")
    if any(group.name.startswith("dec ") for group in groups):
        remarks.append("Stages of the decoder count the output of the encoder in theirs.")
    return replace(run.origin, note=" ".join(remarks))
