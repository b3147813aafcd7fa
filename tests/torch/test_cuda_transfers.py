"""Offloading on a GPU: side streams and pinned memory; skipped without one."""

from __future__ import annotations

from typing import Any

import pytest

from jettison.instances.profilers.torch_chains.profiled_chain import profile_chain
from jettison.schedules.remat_chain.contents import Tensor as Name
from jettison.schedules.remat_chain.contents import TensorKind
from tests.executor_steps import twin

torch = pytest.importorskip("torch", reason="PyTorch is not installed (jettison[torch])")
executor: Any = pytest.importorskip("jettison.torch", exc_type=ImportError)
nn = torch.nn

pytestmark = [
    pytest.mark.torch,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device"),
]

NAME = Name(TensorKind.PLAIN, 1)
# Long enough for a copy that does not wait to come too early: some 10 ms.
BUSY_CYCLES = 20_000_000
COUNT = 2**22
# Assumed in plans that have to send something away; the copies take the time that they take.
FAST = "2000GB/s"


def test_an_offload_waits_for_what_is_computed_and_its_memory_for_the_copy() -> None:
    from jettison.torch.host_copies import CudaHostCopies

    device = torch.device("cuda", 0)
    copies = CudaHostCopies(device)
    value = torch.zeros(COUNT, device=device)
    torch.cuda._sleep(BUSY_CYCLES)
    value += 7
    copies.offload(NAME, [value.untyped_storage()])
    address = value.data_ptr()
    del value
    # The storage is held until `release`; what takes its place runs after the copy.
    assert torch.empty(COUNT, device=device).data_ptr() != address
    copies.release(NAME)
    other = torch.full((COUNT,), 3.0, device=device)
    (storage,) = copies.prefetch(NAME)
    copies.await_arrival(NAME)
    back = torch.empty(0, device=device).set_(storage)
    assert bool((back == 7).all())
    assert bool((other == 3).all())


def test_what_arrives_does_not_overwrite_memory_in_use_and_is_awaited() -> None:
    from jettison.torch.host_copies import CudaHostCopies

    device = torch.device("cuda", 0)
    copies = CudaHostCopies(device)
    value = torch.full((COUNT,), 5.0, device=device)
    copies.offload(NAME, [value.untyped_storage()])
    copies.release(NAME)
    torch.cuda._sleep(BUSY_CYCLES)
    total = value.sum()
    # Its memory is that of the target, perhaps: the copy back waits for the sum.
    del value
    for _ in range(3):
        (storage,) = copies.prefetch(NAME)
        copies.await_arrival(NAME)
        back = torch.empty(0, device=device).set_(storage)
        assert float(back.sum()) == float(total) == 5.0 * COUNT
        # Dropped, and prefetched again without anybody waiting.
        copies.prefetch(NAME)


def test_a_step_on_a_stream_of_its_own_gives_the_plain_gradients() -> None:
    torch.manual_seed(0)
    model = nn.Sequential(*[nn.Sequential(nn.Linear(256, 256), nn.Tanh()) for _ in range(6)]).cuda()
    plain = twin(model)
    x = torch.randn(4096, 256, device="cuda")
    chain = profile_chain(model, x, name="wide", model_name="wide", warmup=1, repeats=3)
    scheduled = executor.checkpoint_sequential_optimal(
        model, chain=chain, memory="65%", bandwidth=FAST
    )
    assert any(str(operation).startswith("O") for operation in scheduled.schedule.operations)
    own = torch.cuda.Stream()
    own.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(own):
        for _ in range(3):
            scheduled(x).square().sum().backward()
    torch.cuda.current_stream().wait_stream(own)
    for _ in range(3):
        plain(x).square().sum().backward()
    for mine, other in zip(model.parameters(), plain.parameters(), strict=True):
        torch.testing.assert_close(mine.grad, other.grad)


@pytest.mark.parametrize("memory", ["50%", "60%"])
def test_the_peak_with_transfers_is_within_the_memory(memory: str) -> None:
    from jettison.instances.profilers.device.memory_cuda import CudaMemoryMeter

    model = nn.Sequential(*[nn.Sequential(nn.Linear(512, 512), nn.GELU()) for _ in range(8)]).cuda()
    x = torch.randn(8192, 512, device="cuda")
    chain = profile_chain(model, x, name="wide", model_name="wide", warmup=1, repeats=3)
    scheduled = executor.checkpoint_sequential_optimal(
        model, chain=chain, memory=memory, bandwidth=FAST
    )
    assert any(str(operation).startswith("O") for operation in scheduled.schedule.operations)
    for parameter in model.parameters():
        parameter.grad = torch.zeros_like(parameter)
    # A thread of autograd makes a handle of cuBLAS at its first product, with a workspace that
    # stays: 32 MiB on a Hopper.
    for _ in range(4):
        scheduled(x).mean().backward()
    with CudaMemoryMeter(x.device) as meter, meter.window() as window:
        scheduled(x).mean().backward()
    peak_bytes = window.rise_bytes + chain.input_bytes
    # An offload may give its memory back later than predicted, but not too late for the limit;
    # the allocator rounds sizes up.
    assert peak_bytes <= 1.05 * scheduled.problem.memory_bytes


def test_gradients_of_half_precision_are_scaled_as_in_the_plain_model() -> None:
    torch.manual_seed(0)
    model = nn.Sequential(*[nn.Sequential(nn.Linear(64, 64), nn.Tanh()) for _ in range(4)]).cuda()
    plain = twin(model)
    x = torch.randn(32, 64, device="cuda")
    chain = profile_chain(model, x, name="wide", model_name="wide", warmup=0, repeats=1)
    scheduled = executor.checkpoint_sequential_optimal(model, chain=chain, memory="90%")
    for run, parts in ((scheduled, model), (plain, plain)):
        scaler = torch.amp.GradScaler("cuda")
        optimizer = torch.optim.SGD(parts.parameters(), lr=0.1)
        for _ in range(3):
            optimizer.zero_grad()
            with torch.autocast("cuda", dtype=torch.float16):
                loss = run(x).float().square().mean()
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
    for mine, other in zip(model.parameters(), plain.parameters(), strict=True):
        torch.testing.assert_close(mine, other, rtol=1e-3, atol=1e-4)
