"""Compiled steps that follow a plan leave behind what the plain model does, to the bit."""

from __future__ import annotations

from typing import Any

import pytest

from tests.compiled_models import COMPILED_MODELS, Drawn, build_compiled
from tests.executor_steps import same, twin

torch = pytest.importorskip("torch", reason="PyTorch is not installed (jettison[torch])")
executor: Any = pytest.importorskip("jettison.torch", exc_type=ImportError)

from torch._dynamo.backends.common import aot_autograd  # noqa: E402
from torch._dynamo.backends.debugging import boxed_nop  # noqa: E402

pytestmark = pytest.mark.torch


def tensors_of(output: Any) -> list[Any]:
    if isinstance(output, dict):
        return list(output.values())
    return list(output) if isinstance(output, tuple) else [output]


class Left:
    """All that two steps leave behind: outputs, gradients, buffers, inputs, generator."""

    def __init__(self, run: Any, model: Any, x: Any) -> None:
        torch.manual_seed(3)
        self.tensors = []
        for _ in range(2):
            given = x.clone()
            outputs = tensors_of(run(given))
            # Different weights, so that no two gradients of outputs are equal.
            weighted = [
                (number + 1) * item.sin().sum()
                for number, item in enumerate(outputs)
                if item.requires_grad
            ]
            sum(weighted).backward()
            self.tensors += [*(item.detach() for item in outputs), given]
        self.tensors += [item.grad for item in model.parameters()]
        self.tensors += [*model.buffers(), torch.get_rng_state()]


def assert_equal(run: Any, model: Any, plain: Any, x: Any) -> None:
    theirs, mine = Left(plain, plain, x), Left(run, model, x)
    assert len(mine.tensors) == len(theirs.tensors)
    for number, (left, right) in enumerate(zip(mine.tensors, theirs.tensors, strict=True)):
        assert same(left, right), number


@pytest.fixture(autouse=True)
def _fresh() -> Any:
    torch._dynamo.reset()
    yield
    torch._dynamo.reset()


def eager_backend(cut: Any) -> Any:
    return aot_autograd(
        fw_compiler=boxed_nop,
        bw_compiler=boxed_nop,
        partition_fn=cut,
        keep_inference_input_mutations=True,
    )


@pytest.mark.parametrize("name", COMPILED_MODELS)
def test_recomputation_under_aot_eager_changes_no_bit(name: str) -> None:
    model, x = build_compiled(name)
    plain = twin(model)
    run = executor.compiled(model, memory="75%", backend="aot_eager", most_moves=100_000)
    assert_equal(run, model, plain, x)
    assert run.plan.time_ns > run.plan.base_time_ns
    assert run.measured_peak_bytes <= run.report.limit_bytes


def test_random_networks_change_no_bit() -> None:
    recomputed = 0
    for seed in range(4):
        torch._dynamo.reset()
        with torch.random.fork_rng():
            torch.manual_seed(seed)
            model, x = Drawn(seed).double(), torch.randn(1024, 6).double()
        plain = twin(model)
        cut = executor.partitioner("85%", most_moves=100_000)
        run = torch.compile(model, backend=eager_backend(cut), fullgraph=True, dynamic=False)
        try:
            assert_equal(run, model, plain, x)
        except BaseException as error:
            error.add_note(f"seed {seed}")
            raise
        recomputed += cut.plans[0].time_ns > cut.plans[0].base_time_ns
    assert recomputed >= 2
