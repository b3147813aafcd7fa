"""Profile of a model that is not on the device: its stages are there one after the other."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import replace

import torch
from torch import Tensor, nn

from jettison.instances.profilers.cost_check import CostCheck
from jettison.instances.profilers.device.model_state import left_as_found
from jettison.instances.profilers.torch_chains.profiled_chain import profile_chain
from jettison.instances.remat_chain.chain import Chain


def profile_stage_by_stage(
    model: nn.Sequential,
    sample_input: Tensor,
    *,
    name: str,
    model_name: str,
    loss: Callable[[Tensor], Tensor] | None,
    warmup: int,
    repeats: int,
    threads: int | None,
) -> Chain:
    """Measure a model whose weights need not fit the device together.

    A copy of each stage is made on the device of `sample_input` and measured as a model of its own,
    on the output of the stage before it; the model stays where it is. A gradient reaches each stage
    but the last as that of a mean, which has the layout of the output. Durations are not compared
    with those of whole steps, for which there may be no room.

    Raises
    ------
    InputError
        As of `profile_chain`; also if neither a stage nor any before it has something to train.
    """
    device = sample_input.device
    names = [
        child
        for child, _ in model.named_modules(remove_duplicate=False)
        if child and "." not in child
    ]
    given = sample_input
    parts: list[Chain] = []
    for place, module in enumerate(model):
        own = copy.deepcopy(module).to(device)
        part = profile_chain(
            nn.Sequential(own),
            given,
            name=name,
            model_name=model_name,
            loss=loss if place == len(model) - 1 else None,
            warmup=warmup,
            repeats=repeats,
            threads=threads,
            check=CostCheck.TRUST,
        )
        label = (
            f"{names[place]}-{type(module).__name__}" if names[place].isdigit() else names[place]
        )
        parts.append(_named(part, label))
        with left_as_found([own], device), torch.no_grad():
            output = own(given)
        trains = given.requires_grad or any(item.requires_grad for item in own.parameters())
        given = output.detach().requires_grad_(trains)
        del own, output
    first, last = parts[0], parts[-1]
    return replace(
        last,
        input_bytes=first.input_bytes,
        stages=(*(part.stages[0] for part in parts), last.stages[1]),
        provenance=replace(
            first.provenance,
            spread={key: value for part in parts for key, value in part.provenance.spread.items()},
            rises={key: value for part in parts for key, value in part.provenance.rises.items()},
        ),
    )


def _named(part: Chain, label: str) -> Chain:
    """Return a chain of one stage and its loss, the stage by another name."""
    old = part.stages[0].name
    provenance = part.provenance

    def renamed(key: str) -> str:
        return label + key.removeprefix(old) if key.split(" ", maxsplit=1)[0] == old else key

    return replace(
        part,
        stages=(replace(part.stages[0], name=label), part.stages[1]),
        provenance=replace(
            provenance,
            spread={renamed(key): value for key, value in provenance.spread.items()},
            rises={renamed(key): value for key, value in provenance.rises.items()},
        ),
    )
