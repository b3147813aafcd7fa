"""Program of the process in which kernels run that may bring it down; see `kernel_process`.

It reads one request in JSON from each line of the standard input, and answers in lines of JSON on
the standard output: which call it begins, then what all of them allocate. It ends with the input.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Mapping
from typing import IO, Any

import torch

from jettison.instances.profilers.kernels.call_memory import CallMemory, CallOutcome, memory_of
from jettison.instances.profilers.kernels.global_settings import use_global_settings
from jettison.instances.profilers.kernels.kernel_call import KernelCall


def main() -> None:
    """Answer requests until there is none."""
    # Ctrl-C is for the program that asks; it ends this one by closing the input.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # What libraries print goes to the error stream, where it cannot be taken for an answer.
    with os.fdopen(os.dup(1), "w", encoding="utf-8") as answers:
        os.dup2(2, 1)
        _say(answers, {"ready": torch.__version__})
        for line in sys.stdin:
            _answer(json.loads(line), answers)


def _answer(request: Mapping[str, Any], answers: IO[str]) -> None:
    device = torch.device(request["device"])
    if device.type == "cuda":
        torch.cuda.set_device(device)
    use_global_settings(request["settings"])
    found = memory_of(
        [KernelCall(text).prepared for text in request["calls"]],
        device,
        lambda number: _say(answers, {"begins": number}),
    )
    _say(answers, {"found": [_entry(item) for item in found]})


def _entry(item: CallOutcome) -> dict[str, object]:
    if isinstance(item, CallMemory):
        return {"rise_bytes": item.rise_bytes, "results_bytes": list(item.results_bytes)}
    return {"kind": item.kind.value, "message": item.message}


def _say(answers: IO[str], message: Mapping[str, object]) -> None:
    answers.write(f"{json.dumps(message)}\n")
    answers.flush()


if __name__ == "__main__":
    main()
