"""Rows of chains: computed again, and with copies to the host."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

from benchmarks.gpu_steps.measured_step import (
    DEVICE,
    SOLVE_S,
    Row,
    apart,
    failed,
    gradients_of,
    peak_of,
    plain_of,
    step_of,
    turns_of,
)
from jettison.instances.catalog import save
from jettison.instances.core.errors import JettisonError
from jettison.instances.profilers.torch_chains.profiled_chain import profile_chain
from jettison.instances.remat_chain.chain import Chain
from jettison.instances.zoo.catalogue import build
from jettison.instances.zoo.workload import Workload
from jettison.torch import (
    checkpoint_sequential_optimal,
)

CHAINS: dict[str, dict[str, Any]] = {
    "resnet50": {"batch": 64, "input_size": 224},
    "resnet101": {"batch": 16, "input_size": 500},
    "densenet121": {"batch": 32, "input_size": 224},
    "vit-b16": {"batch": 32, "input_size": 224},
    "gpt2-small": {"batch": 8, "input_size": 1024},
    "bert-base": {"batch": 16, "input_size": 512},
}
SHARES = ("70%", "50%")


def chain_rows(
    name: str, sizes: dict[str, Any], short: str, link: int, repeats: int, folder: Path
) -> Iterator[Row]:
    """Yield the rows of a chain: computed again, and with copies to the host."""
    work = build(name, **sizes).to(DEVICE)
    label = f"{name}-b{sizes['batch']}-{sizes['input_size']}-{short}"
    chain = profile_chain(
        work.model,
        work.sample_input,
        name=label,
        model_name=work.model_name,
        model_arguments=work.model_arguments,
        loss=work.loss,
        warmup=2,
        repeats=repeats,
    )
    save(chain, folder / f"{label}.json")
    plain = plain_of(work)
    for plan in ("remat-chain", "remat-offload-chain"):
        for share in SHARES:
            row = Row(short, name, len(chain), plan, share, chain.base_time_ns, 0)
            try:
                yield chain_row(row, work, chain, plain, link, repeats)
            except (JettisonError, RuntimeError) as error:
                yield failed(row, error)


def chain_row(
    row: Row, work: Workload, chain: Chain, plain: Callable[[], None], link: int, repeats: int
) -> Row:
    """Return the row of one plan of a chain."""
    scheduled = checkpoint_sequential_optimal(
        work.model,
        chain=chain,
        memory=row.share,
        bandwidth=link if row.plan == "remat-offload-chain" else None,
        loss=work.loss,
        time_limit=SOLVE_S,
    )
    step = step_of(work, scheduled)
    plain()
    expected = gradients_of(work)
    step()
    found = apart(gradients_of(work), expected)
    del expected
    work.model.zero_grad(set_to_none=True)
    plain_bytes, _ = peak_of(plain)
    predicted = scheduled.predicted.rise_bytes
    if predicted is None:
        # With copies a prediction counts the input, and no gradients of parameters: these are there
        # before the step that is measured.
        predicted = scheduled.predicted.peak_bytes - chain.input_bytes
        measured_bytes, reserved_bytes = peak_of(lambda: scheduled(work.sample_input).backward())
    else:
        work.model.zero_grad(set_to_none=True)
        measured_bytes, reserved_bytes = peak_of(step)
    measured_ns, plain_ns = turns_of(step, plain, repeats)
    return Row(
        **{
            **asdict(row),
            "plain_ns": plain_ns,
            "predicted_ns": scheduled.predicted.time_ns,
            "measured_ns": measured_ns,
            "limit_bytes": scheduled.problem.memory_bytes,
            "plain_bytes": plain_bytes,
            "predicted_bytes": predicted,
            "measured_bytes": measured_bytes,
            "reserved_bytes": reserved_bytes,
            "gradients": found,
        }
    )
