"""Test vectors of training-chain: a layer and a loss with weights, gradients and an optimizer.

Sizes are bytes, times nanoseconds, and the link carries a byte in each. All operations take 4 ns.
`B` of the layer alone needs its weights and their gradient (4 each), 2 saved bytes, 1 of the
gradient of its output, 1 of that of its input and the input of the chain: 13 bytes, so that nothing
fits in 12. In 13 bytes the weights of the loss have to go and come back, in 15 its update is
what takes longer.

The rows of `peak` are once_1, copy_1, once_2, device, host, in, out and memory. Where `B` of the
loss starts, one byte is missing in 13: three times (device), (in) and (memory) together say that
4 T + k_1 >= 22.

`SAVED` has no weights. Where `B` of its loss starts, 8 bytes have the 6 that the loss saved, the
gradient of 1 and so 1 of the other stage: of its 6, a part of 1 - K_1 is made again in D_6, at 4 ns
for all, and O come back in D_5 to D_7. (holds) 1 + O >= 6 K_1, (remade), (returns) and the link say
that 6 (1 - D_6 / 4) <= 1 + 2 + D_6, so that D_6 >= 6 / 5 is added to 7 ns. In eighths: 8 D_6 >= 9.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from typing import Any

from tests.certificates.written_certificate import Header, header_of

# A file, its header and lines, whether it proves its claim, and why it does or does not.
Row = tuple[str, Header, Sequence[str], bool, str]
_Part = tuple[str, Header, Sequence[str], str]

CHAIN: dict[str, Any] = {
    "format": "jettison",
    "kind": "chain",
    "version": 1,
    "name": "by-hand",
    "input_bytes": 1,
    "stages": [
        {
            "name": "a",
            "forward_ns": 1,
            "backward_ns": 1,
            "output_bytes": 1,
            "saved_bytes": 2,
            "weight_bytes": 4,
            "optimizer_state_bytes": 1,
            "update_ns": 1,
            "host_update_ns": 2,
        },
        {
            "name": "loss",
            "forward_ns": 1,
            "backward_ns": 1,
            "output_bytes": 0,
            "saved_bytes": 1,
            "weight_bytes": 3,
            "update_ns": 1,
        },
    ],
}
NOTHING = (
    "f 2:1 10:-3 13:3 15:3 18:3 26:1 33:1 47:-1 48:-1 65:-1 66:1 67:1 68:1 69:1 70:1 73:1 115:1 "
    "116:1 117:1 118:1 119:1 120:1 129:-1 248:1",
)
TEN = (
    "l 0:20 1:4 2:4 15:12 18:12 26:8 33:4 35:-4 36:-4 47:-8 48:-8 49:-4 50:-4 51:-4 52:-4 64:4 "
    "66:8 67:8 68:8 69:8 70:8 73:4 74:-4 75:-4 76:-4 82:-4 83:-4 84:-4 98:-4 99:-4 100:-4 103:-1 "
    "105:-1 106:-1 111:-1 112:-1 113:-1 114:-4 115:4 116:4 117:4 118:4 119:4 120:4 129:-4 226:4 "
    "228:4 230:4 239:4 248:4 249:4",
)
SAVED: dict[str, Any] = {
    "format": "jettison",
    "kind": "chain",
    "version": 1,
    "name": "saved",
    "input_bytes": 0,
    "stages": [
        {
            "name": "a",
            "forward_ns": 4,
            "backward_ns": 1,
            "output_bytes": 1,
            "saved_bytes": 6,
        },
        {
            "name": "loss",
            "forward_ns": 1,
            "backward_ns": 1,
            "output_bytes": 0,
            "saved_bytes": 6,
        },
    ],
}
# length_6, in_5 to in_7, memory_4, remade_1, holds and returns.
PARTS = ("l 54:5 63:3 65:3 67:3 73:3 77:18 78:3 79:3",)
PEAK = ("l 3:3 5:1 7:1",)
SIX = ("l 0:9 7:1 10:8 222:7 223:8 225:8",)


def _header(
    time_ns: int | None, memory_bytes: int, bits: int = 0, instance: Any = CHAIN, **more: Any
) -> Header:
    header = header_of(
        "training-chain",
        instance,
        memory_bytes=memory_bytes,
        formulation={"name": "cycle", "version": 1, **more},
        time_ns=time_ns,
        valid_for="all schedules",
        scale_bits=bits,
    )
    return header | {"resources": {"memory_bytes": memory_bytes, "bytes_per_s": 10**9}}


def _peak(time_ns: int, memory_bytes: int, **more: Any) -> Header:
    header = _header(time_ns, memory_bytes, 2)
    return header | {"formulation": {"name": "peak", "version": 1, **more}}


def training_vectors() -> Iterator[Row]:
    """Yield all rows."""
    for file, header, lines, reason in _good():
        yield f"good-{file}", header, lines, True, reason
    for file, header, lines, reason in _bad():
        yield f"bad-{file}", header, lines, False, reason


def _good() -> Iterator[_Part]:
    yield "cycle", _header(10, 13, 2), TEN, "weights and gradients move; multipliers are quarters"
    yield "cycle-update", _header(6, 15, 3), SIX, "updates take time on the device or on the link"
    yield "cycle-infeasible", _header(None, 12), NOTHING, "the backward of the layer needs 13 bytes"
    yield "cycle-saved", _header(9, 8, 3, SAVED), PARTS, "8 D_6 >= 9 at the last backward operation"
    yield "peak", _peak(6, 13), PEAK, "4 T >= 22 - 1"


def _changed(stage: int, **fields: Any) -> Any:
    """Return the chain of which one stage has other fields; None leaves one out."""
    changed = copy.deepcopy(CHAIN)
    own = changed["stages"][stage]
    for field, value in fields.items():
        if value is None:
            own.pop(field)
        else:
            own[field] = value
    return changed


def _bad() -> Iterator[_Part]:
    yield "cycle-claim", _header(11, 13, 2), TEN, "it proves 10"
    yield "cycle-memory", _header(10, 14, 2), TEN, "in 14 bytes it proves less"
    yield "cycle-fits", _header(None, 13), NOTHING, "the backward of the layer fits"
    yield "cycle-bits", _header(10, 13, 3), TEN, "multipliers are half as large"
    yield "cycle-option", _header(10, 13, 2, whole=True), TEN, "there are no options"
    yield "cycle-class", _header(10, 13, 2) | {"valid_for": "pofo"}, TEN, "another class"
    link = {"resources": {"memory_bytes": 13, "bytes_per_s": 4 * 10**9}}
    yield "cycle-link", _header(10, 13, 2) | link, TEN, "the link is four times as fast"
    total = {"resources": link["resources"] | {"total_bytes_per_s": 8 * 10**9}}
    yield "cycle-total", _header(10, 13, 2) | total, TEN, "the total is that of both directions"
    none = {"resources": {"memory_bytes": 13}}
    yield "cycle-link-missing", _header(10, 13, 2) | none, TEN, "there is no link"
    signed = [SIX[0].replace("7:1", "7:-1")]
    yield "cycle-sign", _header(6, 15, 3), signed, "a multiplier of an inequality is negative"
    branch = ["b q_1 0", *SIX, "l"]
    yield "cycle-branch", _header(6, 15, 3), branch, "a branch on a continuous column"
    beyond = [SIX[0] + " 999:1"]
    yield "cycle-row", _header(6, 15, 3), beyond, "there is no such row"
    more = _header(9, 9, 3, SAVED)
    yield "cycle-saved-memory", more, PARTS, "in 9 bytes 8 D_6 >= 6"
    less = [PARTS[0].rsplit(" ", 1)[0]]
    yield "cycle-saved-back", _header(9, 8, 3, SAVED), less, "nothing says that O comes back"
    yield "peak-claim", _peak(7, 13), PEAK, "it proves 6"
    yield "peak-memory", _peak(6, 14), PEAK, "in 14 bytes 4 T >= 21 - 1"
    yield "peak-option", _peak(6, 13, stage=2), PEAK, "there are no options"
    yield "peak-sign", _peak(6, 13), ["l 3:3 5:-1 7:1"], "a multiplier is negative"
    yield "peak-row", _peak(6, 13), ["l 3:3 5:1 8:1"], "there is no such row"
    lighter = _changed(0, weight_bytes=1)
    yield "cycle-weights", _header(10, 13, 2, lighter), TEN, "the layer has lighter weights"
    host = _changed(1, host_update_ns=0)
    yield "cycle-host", _header(6, 15, 3, host), SIX, "rows of a loss that the host updates"
    null = _changed(0, host_update_ns=0)
    null["stages"][0]["host_update_ns"] = "fast"
    yield "cycle-host-text", _header(0, 15, 3, null), ["l"], "a text is no time"
    gradient = _changed(0, weight_gradient_bytes=-1)
    yield "cycle-gradient", _header(0, 15, 3, gradient), ["l"], "a size below 0"
