"""Memory of a step by the code that Inductor generated for its two passes."""

from __future__ import annotations

import torch

from jettison.torch.compilation.code_memory import CodeMemory
from jettison.torch.compilation.inductor.code_calls import rises_bytes
from jettison.torch.compilation.inductor.code_walk import library_calls, pass_memory
from jettison.torch.compilation.inductor.generated_code import GeneratedCode, input_names


def step_memory(
    forward: GeneratedCode, backward: GeneratedCode, saved: int, device: torch.device
) -> CodeMemory | None:
    """Return the memory of a step, as `measured_peak_bytes` runs it.

    Parameters
    ----------
    forward, backward
        The two passes.
    saved
        How many results of the forward pass the backward pass takes: the last ones there, the first
        ones here. What else it takes are gradients of outputs, which its caller holds.
    device
        Where it runs: on a CPU and on CUDA the calls of libraries are measured.

    Returns
    -------
    CodeMemory | None
        None if the code is of another form.
    """
    calls = [call for code in (forward, backward) for call in library_calls(code)]
    rises = rises_bytes(calls, device)
    first = pass_memory(forward, {}, rises)
    names = input_names(backward)
    if first is None or names is None or len(first.returned) < saved or len(names) < saved:
        return None
    outputs = first.returned[: len(first.returned) - saved]
    kept = first.returned[len(first.returned) - saved :]
    held = {item for item in outputs if item is not None}
    # The user holds outputs, and inputs of the model are not counted.
    seen = set(held)
    sizes: dict[str, int] = {}
    for name, item in zip(names, kept, strict=False):
        sizes[name] = 0 if item is None or item in seen else item[1]
        if item is not None:
            seen.add(item)
    second = pass_memory(backward, sizes, rises)
    if second is None:
        return None
    tangents = sum(backward.sizes_bytes.get(name, 0) for name in names[saved:])
    around = sum(size for _, size in held) + tangents
    return CodeMemory(
        peak_bytes=max(first.peak_bytes, around + second.peak_bytes),
        forward=first.made,
        backward=tuple((name, around + count) for name, count in second.made),
        workspaces_bytes={
            name: max(found.workspaces_bytes.get(name, 0) for found in (first, second))
            for name in {**first.workspaces_bytes, **second.workspaces_bytes}
        },
    )
