"""Plans under Inductor: within the measured limit, with the gradients of the plain model."""

from __future__ import annotations

import re
import shutil
from typing import Any

import pytest

from jettison import InputError
from tests.executor_steps import twin

torch = pytest.importorskip("torch", reason="PyTorch is not installed (jettison[torch])")
executor: Any = pytest.importorskip("jettison.torch", exc_type=ImportError)

pytestmark = [
    pytest.mark.torch,
    # Inductor's own imports warn of what will be removed.
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.skipif(shutil.which("g++") is None, reason="needs a C++ compiler"),
]
nn = torch.nn


class Noisy(nn.Module):
    """Layers, and a dropout at the end whose zeros the gradient of a scale shows."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(16, 16) for _ in range(3)])
        self.scale = nn.Parameter(torch.ones(1024, 16))

    def forward(self, x: Any) -> Any:
        for layer in self.layers:
            x = layer(x).tanh() + x
        return x, nn.functional.dropout(x.exp() * self.scale, 0.5)


def test_a_plan_is_within_the_measured_limit_and_draws_the_same_numbers_again() -> None:
    torch._dynamo.reset()
    with torch.random.fork_rng():
        torch.manual_seed(7)
        model, x = Noisy(), torch.randn(1024, 16)
    plain = twin(model)
    run = executor.compiled(model, memory="80%", most_moves=100_000)
    values, noisy = run(x)
    noisy.sum().backward()
    # Kept values are doubled.
    assert torch.equal(noisy == 0, model.scale.grad == 0)
    assert 0.4 < (noisy == 0).float().mean() < 0.6
    model.zero_grad()
    run(x)[0].square().sum().backward()
    expected = plain(x)[0]
    expected.square().sum().backward()
    torch.testing.assert_close(values, expected)
    for mine, theirs in zip(model.layers.parameters(), plain.layers.parameters(), strict=True):
        torch.testing.assert_close(mine.grad, theirs.grad, rtol=1e-4, atol=1e-5)
    assert run.measured_peak_bytes <= run.report.limit_bytes
    assert run.report.limit_bytes < run.report.reference_peak_bytes
    assert run.plan.time_ns > run.plan.base_time_ns
    # The generated code is read, and what it calls is measured.
    for attempt in run.report.attempts:
        assert attempt.code_peak_bytes is not None
        assert attempt.predicted_peak_bytes == pytest.approx(attempt.measured_peak_bytes, rel=1e-3)
    torch._dynamo.reset()


def test_a_limit_that_is_impossible_is_refused_with_what_was_met_and_what_is_proved() -> None:
    torch._dynamo.reset()
    model, x = nn.Sequential(nn.Linear(8, 8), nn.Tanh(), nn.Linear(8, 8)), torch.randn(64, 8)
    run = executor.compiled(model, memory="20%", most_moves=10_000)
    with pytest.raises(InputError) as refusal:
        run(x)
    assert "no compiled step was found whose measured peak is within" in str(refusal.value)
    # The limit, the least that was met, and what is proved, of which each names its bytes.
    limit, met, proved = map(int, re.findall(r"\((\d+) bytes\)", str(refusal.value)))
    report = run.reports[0]
    assert report.chosen is None
    assert limit == report.limit_bytes
    assert met == min(attempt.measured_peak_bytes for attempt in report.attempts)
    # What is proved is above the limit, so that nothing is open between the two.
    assert limit < proved <= met
    assert "is impossible for any plan" in str(refusal.value)
    assert "nothing is proved" not in str(refusal.value)
    torch._dynamo.reset()


def test_a_partitioner_alone_refuses_inductor_and_names_what_measures() -> None:
    torch._dynamo.reset()
    model, x = nn.Sequential(nn.Linear(4, 4), nn.Tanh()), torch.randn(3, 4)
    run = torch.compile(model, dynamic=False)
    with (
        torch._inductor.config.patch(custom_partitioner_fn=executor.partitioner("90%")),
        pytest.raises(
            Exception, match=r"backend: .*write jettison\.torch\.compiled\(model, memory"
        ),
    ):
        run(x)
    torch._dynamo.reset()
