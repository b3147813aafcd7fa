"""Training in one budget on a GPU: side streams, pinned memory, updates of the host."""

from __future__ import annotations

import copy
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed (jettison[torch])")
executor: Any = pytest.importorskip("jettison.torch", exc_type=ImportError)
nn = torch.nn

pytestmark = [
    pytest.mark.torch,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device"),
]

BUSY_CYCLES = 20_000_000
COUNT = 2**22


class Block(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.body = nn.Sequential(
            nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width), nn.Dropout(0.1)
        )

    def forward(self, x: Any) -> Any:
        return x + self.body(self.norm(x))


def adam(parameters: Any) -> Any:
    return torch.optim.AdamW(parameters, lr=1e-3, fused=True)


def stack(width: int, depth: int, **options: Any) -> Any:
    torch.manual_seed(0)
    return nn.Sequential(*[Block(width) for _ in range(depth)], nn.Linear(width, 16)).to(
        "cuda", **options
    )


def loss_of(output: Any, labels: Any) -> Any:
    return nn.functional.cross_entropy(output.flatten(0, 1), labels)


def trainer_of(model: Any, x: Any, labels: Any, **options: Any) -> Any:
    given = {"memory": "40%", "bandwidth": "20GB/s", "time_limit": 10, "repeats": 3}
    return executor.train_in_one_budget(
        model,
        optimizer=adam,
        loss=loss_of,
        sample_input=x,
        sample_loss_arguments=(labels,),
        **{**given, **options},
    )


def plain_losses(model: Any, x: Any, labels: Any, steps: int) -> list[float]:
    torch.manual_seed(5)
    optimizer = adam(model.parameters())
    losses = []
    for _ in range(steps):
        loss = loss_of(model(x), labels)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        losses.append(float(loss.detach()))
    return losses


@pytest.mark.parametrize(
    ("memory", "bandwidth"), [("70%", "20GB/s"), ("40%", "20GB/s"), ("30%", "1GB/s")]
)
def test_steps_in_one_budget_give_the_plain_losses_and_weights(memory: str, bandwidth: str) -> None:
    model = stack(128, 8, dtype=torch.float64)
    x = torch.randn(8, 64, 128, device="cuda", dtype=torch.float64)
    labels = torch.randint(16, (512,), device="cuda")
    plain = copy.deepcopy(model)
    trainer = trainer_of(model, x, labels, memory=memory, bandwidth=bandwidth)
    torch.manual_seed(5)
    # No loss is read before the end: the host is far ahead of the device.
    losses = [trainer.step(x, labels) for _ in range(5)]
    trainer.close()
    expected = plain_losses(plain, x, labels, 5)
    torch.testing.assert_close([float(loss) for loss in losses], expected, rtol=1e-9, atol=1e-9)
    for mine, other in zip(model.parameters(), plain.parameters(), strict=True):
        torch.testing.assert_close(mine, other, rtol=1e-7, atol=1e-9)


def test_a_step_on_a_stream_of_its_own_gives_the_plain_losses() -> None:
    model = stack(128, 8, dtype=torch.float64)
    x = torch.randn(8, 64, 128, device="cuda", dtype=torch.float64)
    labels = torch.randint(16, (512,), device="cuda")
    plain = copy.deepcopy(model)
    trainer = trainer_of(model, x, labels)
    torch.manual_seed(5)
    own = torch.cuda.Stream()
    own.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(own):
        losses = [float(trainer.step(x, labels)) for _ in range(4)]
    torch.cuda.current_stream().wait_stream(own)
    torch.testing.assert_close(losses, plain_losses(plain, x, labels, 4), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("memory", ["70%", "40%", "30%"])
def test_the_peak_of_the_allocator_is_within_the_memory(memory: str) -> None:
    model = stack(512, 8)
    x = torch.randn(16, 128, 512, device="cuda")
    labels = torch.randint(16, (2048,), device="cuda")
    trainer = trainer_of(model, x, labels, memory=memory)
    # Threads of autograd make handles of cuBLAS at first, with workspaces that stay.
    for _ in range(4):
        trainer.step(x, labels)
    peak_bytes = trainer.measure_peak(x, labels).measured
    # The allocator rounds sizes up.
    assert peak_bytes <= 1.05 * trainer.problem.memory_bytes


def test_a_place_on_the_host_is_written_again_after_it_was_read() -> None:
    from jettison.torch.host_copies import CudaHostCopies

    device = torch.device("cuda", 0)
    copies = CudaHostCopies(device)
    value = torch.zeros(COUNT, device=device)
    addresses = set()
    for turn in range(4):
        torch.cuda._sleep(BUSY_CYCLES)
        value.fill_(turn)
        copies.outdate("value")
        copies.offload("value", [value.untyped_storage()])
        copies.release("value")
        value.fill_(-1)
        (storage,) = copies.prefetch("value")
        copies.await_arrival("value")
        back = torch.empty(0, device=device).set_(storage)
        assert bool((back == turn).all())
        (hosted,) = copies.on_host("value")
        addresses.add(hosted.data_ptr())
        assert bool((torch.empty(0).set_(hosted) == turn).all())
    assert len(addresses) == 1


def test_weights_arrive_in_the_storages_that_graphs_refer_to() -> None:
    from jettison.torch.host_copies import CudaHostCopies

    device = torch.device("cuda", 0)
    copies = CudaHostCopies(device)
    weight = nn.Parameter(torch.full((COUNT,), 3.0, device=device))
    storage = weight.untyped_storage()
    size_bytes = storage.nbytes()
    torch.cuda._sleep(BUSY_CYCLES)
    copies.offload("weight", [storage])
    copies.release("weight")
    storage.resize_(0)
    other = torch.full((COUNT,), 9.0, device=device)
    storage.resize_(size_bytes)
    copies.prefetch("weight", [storage])
    copies.await_arrival("weight")
    assert bool((weight.detach() == 3).all())
    assert bool((other == 9).all())


def test_a_model_on_the_host_trains_on_the_gpu_without_being_there_at_once() -> None:
    model = stack(256, 8).cpu()
    x = torch.randn(8, 64, 256, device="cuda")
    labels = torch.randint(16, (512,), device="cuda")
    plain = copy.deepcopy(model).cuda()
    trainer = trainer_of(model, x, labels, memory="30%")
    torch.manual_seed(5)
    losses = [trainer.step(x, labels) for _ in range(4)]
    weights = trainer.state_dict()
    expected = plain_losses(plain, x, labels, 4)
    torch.testing.assert_close([float(loss) for loss in losses], expected, rtol=1e-4, atol=1e-4)
    for name, other in plain.state_dict().items():
        assert weights[name].device.type == "cpu"
        torch.testing.assert_close(weights[name], other.cpu(), rtol=1e-2, atol=1e-3)
