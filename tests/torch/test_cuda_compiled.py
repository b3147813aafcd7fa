"""Compiled steps within a limit on a GPU, of what is handed out and of what is reserved."""

from __future__ import annotations

from typing import Any

import pytest

from jettison import Card

torch = pytest.importorskip("torch", reason="PyTorch is not installed (jettison[torch])")
executor: Any = pytest.importorskip("jettison.torch", exc_type=ImportError)
nn = torch.nn

pytestmark = [
    pytest.mark.torch,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device"),
    # Inductor's own imports, in some versions.
    pytest.mark.filterwarnings("ignore:.*torch.jit:DeprecationWarning"),
]

MIB = 2**20


class Loss(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.layers = nn.Sequential(
            *[nn.Sequential(nn.Linear(512, 512), nn.GELU(), nn.Tanh()) for _ in range(8)]
        )

    def forward(self, x: Any) -> Any:
        return self.layers(x).square().mean()


def gradients(model: Any, run: Any, x: Any) -> list[Any]:
    model.zero_grad(set_to_none=True)
    run(x).backward()
    return [parameter.grad.clone() for parameter in model.parameters()]


@pytest.mark.parametrize("backend", ["aot_eager", "inductor"])
def test_a_compiled_step_is_within_its_share(backend: str) -> None:
    model = Loss().cuda()
    x = torch.randn(8192, 512, device="cuda")
    expected = gradients(model, model, x)
    run = executor.compiled(model, memory="60%", backend=backend)
    for mine, other in zip(gradients(model, run, x), expected, strict=True):
        torch.testing.assert_close(mine, other, rtol=1e-4, atol=1e-7)
    report = run.report
    assert report.measured_peak_bytes <= report.limit_bytes < report.reference_peak_bytes
    assert report.plan.time_ns > report.plan.base_time_ns


def test_on_a_card_the_limit_is_on_all_that_is_reserved() -> None:
    model = Loss().cuda()
    x = torch.randn(8192, 512, device="cuda")
    resident_bytes = x.nbytes + sum(item.nbytes for item in model.parameters())
    card = Card(resident_bytes + 200 * MIB)
    run = executor.compiled(model, memory=card, backend="aot_eager")
    for _ in range(2):
        gradients(model, run, x)
    model.zero_grad(set_to_none=True)
    torch.cuda.empty_cache()
    before_bytes = torch.cuda.memory_allocated()
    torch.cuda.reset_peak_memory_stats()
    run(x).backward()
    assert torch.cuda.max_memory_reserved() - before_bytes <= run.report.limit_bytes
