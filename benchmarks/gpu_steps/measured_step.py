"""Row of a step by a plan, and what is measured of steps on a device."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from statistics import median_low

import torch

from jettison.instances.profilers.device.timing import duration_ns
from jettison.instances.profilers.torch_chains.stage_memory import memory_meter
from jettison.instances.zoo.workload import Workload

# Without a GPU the same rows are made on the CPU, for a look at what is measured.
DEVICE = torch.device("cuda", 0) if torch.cuda.is_available() else torch.device("cpu")
SOLVE_S = 6.0


@dataclass(frozen=True, slots=True)
class Row:
    """Plan of a step, predicted and measured; sizes in bytes, times in ns."""

    device: str
    model: str
    stages: int
    plan: str
    share: str
    base_ns: int
    plain_ns: int
    predicted_ns: int | None = None
    measured_ns: int | None = None
    limit_bytes: int | None = None
    plain_bytes: int | None = None
    predicted_bytes: int | None = None
    measured_bytes: int | None = None
    reserved_bytes: int | None = None
    bound_ns: int | None = None
    gradients: str = ""
    error: str = ""


def failed(row: Row, error: Exception) -> Row:
    """Return the row with the reason."""
    reason = f"{type(error).__name__}: {error}".splitlines()[0]
    return Row(**{**asdict(row), "error": reason})


def gradients_of(work: Workload) -> list[torch.Tensor]:
    """Return copies of the gradients of a step, for a comparison."""
    return [p.grad.detach().clone() for p in work.model.parameters() if p.grad is not None]


def apart(found: list[torch.Tensor], expected: list[torch.Tensor]) -> str:
    """Return ``equal``, or the largest difference by the largest gradient."""
    if len(found) != len(expected):
        return "other parameters"
    largest = max(float(item.abs().max()) for item in expected)
    most = max(float((a - b).abs().max()) for a, b in zip(found, expected, strict=True))
    return "equal" if not most else f"{most / largest:.1e}"


def step_of(work: Workload, run: Callable[..., torch.Tensor]) -> Callable[[], None]:
    """Return a step with new gradients."""

    def step() -> None:
        work.model.zero_grad(set_to_none=True)
        torch.manual_seed(0)
        run(work.sample_input).backward()

    return step


def plain_of(work: Workload) -> Callable[[], None]:
    """Return the plain step."""
    return step_of(work, lambda x: work.loss(work.model(x)))


def peak_of(step: Callable[[], None]) -> tuple[int, int | None]:
    """Return the peak of a step above what is there before, and all that is reserved then."""
    if DEVICE.type == "cuda":
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats(DEVICE)
    with memory_meter(DEVICE) as meter, meter.window() as window:
        step()
    return window.rise_bytes, window.reserved_bytes


def turns_of(step: Callable[[], None], plain: Callable[[], None], count: int) -> tuple[int, int]:
    """Return the medians of a step's time and of the plain one's, run by turns."""
    for _ in range(2):
        step()
        plain()
    turns = [(duration_ns(step, DEVICE), duration_ns(plain, DEVICE)) for _ in range(count)]
    mine, others = zip(*turns, strict=True)
    return median_low(mine), median_low(others)
