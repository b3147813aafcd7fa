from __future__ import annotations

import platform
from datetime import date
from importlib import metadata
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from jettison import Chain, InputError, load, save
from jettison.core import MissingExtraError
from jettison.instances.core.parameter_gradients import ParameterGradients
from jettison.instances.profilers.torch_chains import profiled_chain as torch_chain
from jettison.instances.profilers.torch_chains.profiled_chain import profile_chain

torch = pytest.importorskip("torch", reason="PyTorch is not installed (jettison[torch])")
nn = torch.nn

pytestmark = pytest.mark.torch


def profile(model: Any, sample_input: Any, **options: Any) -> Chain:
    """Profile with as few runs as possible: sizes do not depend on their number."""
    settings: dict[str, Any] = {"name": "tiny-cpu", "model_name": "tiny", "warmup": 0, "repeats": 1}
    return profile_chain(model, sample_input, **(settings | options))


class Doubled(nn.Module):
    """Return two tensors."""

    def forward(self, x: Any) -> Any:
        return x, x


class Squared(nn.Module):
    """Save one intermediate value twice."""

    def forward(self, x: Any) -> Any:
        y = x + 1
        return y * y


def test_linear_layers_save_only_their_output() -> None:
    model = nn.Sequential(nn.Linear(8, 16), nn.Linear(16, 2))
    chain = profile(model, torch.zeros(4, 8))
    first, second, loss = chain.stages
    # 4 rows of float32: input 4*8*4, outputs 4*16*4 and 4*2*4 bytes. A linear layer needs its
    # input and its weight, which are not part of what it saves: only the output remains.
    assert chain.input_bytes == 128
    assert (first.output_bytes, first.saved_bytes) == (256, 256)
    assert (second.output_bytes, second.saved_bytes) == (32, 32)
    # The mean needs the shape of its input and nothing else.
    assert (loss.output_bytes, loss.saved_bytes) == (0, 0)
    # Weights and biases: (8*16 + 16)*4 and (16*2 + 2)*4 bytes.
    assert [stage.weight_bytes for stage in chain] == [576, 136, 0]
    assert [stage.name for stage in chain] == ["0-Linear", "1-Linear", "loss"]


def test_the_backward_overhead_of_a_linear_layer_is_its_gradient_before_accumulation() -> None:
    model = nn.Sequential(nn.Linear(8, 16), nn.Linear(16, 2))
    chain = profile(model, torch.zeros(4, 8), gradients=ParameterGradients.ACCUMULATED)
    # The second layer makes 136 bytes of parameter gradients beside the gradient of its input,
    # which the chain model counts by itself. Its output, 32 bytes, goes as the operation begins.
    assert chain.stage(2).backward_overhead_bytes == 136 - 32
    # The first makes 576 and no input gradient; the 128 bytes that the model counts for that
    # gradient are not counted twice, and its output has 256.
    assert chain.stage(1).backward_overhead_bytes == 576 - 128 - 256
    assert not chain.backward_overhead_holds_gradient
    assert chain.provenance.parameter_gradients == "accumulated"


def test_a_new_gradient_is_no_overhead_for_its_place_is_reserved() -> None:
    chain = profile(nn.Sequential(nn.Linear(8, 16), nn.Linear(16, 2)), torch.zeros(4, 8))
    # As above, but the 136 and the 576 bytes are the parameters' gradients from then on.
    assert [stage.backward_overhead_bytes for stage in chain][:2] == [0, 0]
    assert chain.provenance.parameter_gradients == "new"


def test_a_hidden_gradient_is_an_overhead_beside_new_gradients_of_parameters() -> None:
    stage = nn.Sequential(nn.Linear(8, 16), nn.GELU(), nn.Linear(16, 2))
    chain = profile(nn.Sequential(nn.Linear(8, 8), stage), torch.zeros(4, 8))
    # Weights and biases take 576 + 136 bytes, all reserved. When GELU's backward operation runs,
    # 256 bytes of its output's gradient and 256 of its input's are there, and 136 of the 712 are
    # used: that is less than what is reserved, beside the 128 of the input's gradient. The saved
    # bytes before GELU, 256, go when it has run.
    assert chain.stage(2).weight_bytes == 712
    assert chain.stage(2).backward_overhead_bytes == 0
    accumulated = profile(
        nn.Sequential(nn.Linear(8, 8), stage),
        torch.zeros(4, 8),
        gradients=ParameterGradients.ACCUMULATED,
    )
    assert accumulated.stage(2).backward_overhead_bytes > 0


def test_the_gradient_of_a_shared_weight_is_new_only_in_the_last_of_its_stages() -> None:
    layer = nn.Linear(16, 16, bias=False)
    chain = profile(nn.Sequential(nn.Linear(8, 16), layer, nn.Tanh(), layer), torch.zeros(4, 8))
    # 16*16 numbers of 4 bytes: the earlier stage adds them to the gradient that is there, when its
    # output of 4*16 numbers has gone.
    assert chain.stage(4).backward_overhead_bytes == 0
    assert chain.stage(2).backward_overhead_bytes == 1024 - 256


def test_the_gradient_that_a_sum_hands_on_is_one_number() -> None:
    model = nn.Sequential(nn.Linear(8, 16), nn.Tanh())
    chain = profile(model, torch.zeros(4, 8), loss=torch.sum)
    # It is expanded to 4*16 numbers; that of tanh's input is dense.
    assert [stage.gradient_bytes for stage in chain] == [256, 4, 0]


def test_float64_takes_twice_the_bytes_of_float32() -> None:
    sizes = {}
    for dtype in (torch.float32, torch.float64):
        model = nn.Sequential(nn.Linear(8, 16), nn.GELU()).to(dtype)
        chain = profile(model, torch.zeros(4, 8, dtype=dtype))
        assert chain.provenance.dtype == str(dtype).removeprefix("torch.")
        sizes[dtype] = [
            (stage.output_bytes, stage.saved_bytes, stage.weight_bytes) for stage in chain
        ]
    assert sizes[torch.float64] == [
        (2 * output, 2 * saved, 2 * weight) for output, saved, weight in sizes[torch.float32]
    ]


def test_a_hidden_value_that_autograd_saves_counts_beside_the_output() -> None:
    # GELU needs its input, a value inside the stage: 4*16*4 bytes, as large as the output.
    chain = profile(nn.Sequential(nn.Sequential(nn.Linear(8, 16), nn.GELU())), torch.zeros(4, 8))
    assert chain.stage(1).saved_bytes == 2 * chain.stage(1).output_bytes == 512


def test_a_hidden_value_that_nothing_saves_is_an_overhead_of_the_forward_operation() -> None:
    # The rectifier saves its output; the 256 bytes before it live only while the stage runs.
    chain = profile(nn.Sequential(nn.Sequential(nn.Linear(8, 16), nn.ReLU())), torch.zeros(4, 8))
    assert chain.stage(1).saved_bytes == 256
    assert chain.stage(1).forward_overhead_bytes == 256
    assert chain.stage(1).overhead_of_saving_bytes == 256


def test_the_forward_operation_that_saves_nothing_has_an_overhead_of_its_own() -> None:
    stage = nn.Sequential(nn.Linear(8, 16), nn.GELU(), nn.Linear(16, 2))
    chain = profile(nn.Sequential(stage), torch.zeros(4, 8))
    # Saving: 256 + 256 hidden bytes and 32 of the output, all of them in saved_bytes. Without
    # saving: 512 hidden bytes before the first 256 are freed, then 256 + 32; the output is 32.
    assert chain.stage(1).saved_bytes == 544
    assert chain.stage(1).forward_overhead_bytes == 512 - 32
    assert chain.stage(1).saving_overhead_bytes == 0


def test_a_storage_that_is_saved_twice_counts_once() -> None:
    model = nn.Sequential(nn.Linear(8, 16), Squared())
    # The product saves both factors, which are the same 256 bytes, and the output has 256.
    assert profile(model, torch.zeros(4, 8)).stage(2).saved_bytes == 512


def test_a_view_of_the_input_counts_as_a_copy_and_saves_nothing_more() -> None:
    model = nn.Sequential(nn.Linear(8, 16), nn.Flatten(), nn.Linear(16, 2))
    flatten = profile(model, torch.zeros(4, 8)).stage(2)
    assert (flatten.output_bytes, flatten.saved_bytes) == (256, 256)
    assert (flatten.forward_overhead_bytes, flatten.backward_overhead_bytes) == (0, 0)


def test_a_slice_counts_with_the_storage_that_it_keeps_alive() -> None:
    class FirstColumn(nn.Module):
        def forward(self, x: Any) -> Any:
            return (x + 1)[:, :1]

    model = nn.Sequential(nn.Linear(8, 16), FirstColumn())
    # 4*1*4 bytes of elements hold on to 4*16*4 bytes.
    assert profile(model, torch.zeros(4, 8)).stage(2).output_bytes == 256


def test_what_a_custom_function_keeps_without_hooks_counts_as_saved() -> None:
    class Keep(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.kept = torch.ones(100)
            return x.clone()

        @staticmethod
        def backward(ctx: Any, *gradients: Any) -> Any:
            return gradients[0] * ctx.kept[0]

    class Keeper(nn.Module):
        def forward(self, x: Any) -> Any:
            return Keep.apply(x)

    model = nn.Sequential(nn.Linear(8, 16), Keeper())
    # 256 bytes of output and 100 numbers of 4 bytes.
    assert profile(model, torch.zeros(4, 8)).stage(2).saved_bytes == 656


def test_token_ids_are_an_input_without_a_gradient() -> None:
    model = nn.Sequential(nn.Embedding(10, 4), nn.Linear(4, 2))
    chain = profile(model, torch.zeros(3, 5, dtype=torch.long))
    # 15 ids of 8 bytes; 15 rows of 4 numbers. The table needs the ids, which are its input.
    assert chain.input_bytes == 120
    assert (chain.stage(1).output_bytes, chain.stage(1).saved_bytes) == (240, 240)
    assert chain.provenance.dtype == "float32"
    assert chain.provenance.input_shape == (3, 5)


def test_stages_before_the_first_trained_one_have_no_backward_operation() -> None:
    model = nn.Sequential(nn.Flatten(), nn.Linear(8, 4).requires_grad_(False), nn.Linear(4, 2))
    chain = profile(model, torch.zeros(4, 2, 4))
    assert [stage.backward_ns > 0 for stage in chain] == [False, False, True, True]
    # Nothing but the output, since there is nothing to go back to.
    assert [stage.saved_bytes for stage in chain][:2] == [128, 64]


def test_a_module_that_occurs_twice_is_two_stages_and_one_weight() -> None:
    layer = nn.Linear(8, 8)
    chain = profile(nn.Sequential(layer, nn.Tanh(), layer), torch.zeros(4, 8))
    assert [stage.name for stage in chain] == ["0-Linear", "1-Tanh", "2-Linear", "loss"]
    assert [stage.weight_bytes for stage in chain] == [(64 + 8) * 4, 0, 0, 0]


def test_a_loss_does_not_count_what_the_last_stage_holds_already() -> None:
    labels = torch.zeros(4, dtype=torch.long)
    model = nn.Sequential(nn.Linear(8, 16), nn.LogSoftmax(dim=1))
    chain = profile(
        model, torch.zeros(4, 8), loss=lambda output: nn.functional.nll_loss(output, labels)
    )
    # The negative log-likelihood needs its input (not counted), the labels, 4*8 bytes, and a
    # total weight of 4 bytes.
    assert chain.stages[-1].saved_bytes == 36


def test_a_loss_module_is_resident_with_its_buffers_and_weights() -> None:
    class Weighted(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.scale = nn.Parameter(torch.ones(2))
            self.register_buffer("target", torch.zeros(4, 2))

        def forward(self, output: Any) -> Any:
            return (output * self.scale * self.target).sum()

    loss = profile(nn.Sequential(nn.Linear(8, 2)), torch.zeros(4, 8), loss=Weighted()).stages[-1]
    # The first product needs output and scale, the second target: all of them are counted
    # elsewhere. The scale has two numbers of 4 bytes.
    assert (loss.saved_bytes, loss.weight_bytes) == (0, 8)


def test_profiling_leaves_the_model_as_it_was() -> None:
    model = nn.Sequential(
        nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.Dropout(), nn.BatchNorm2d(4).eval(), nn.Flatten()
    )
    model[0].weight.grad = torch.full_like(model[0].weight, 7.0)
    before = {name: value.clone() for name, value in model.state_dict().items()}
    modes = [module.training for module in model.modules()]
    images = torch.ones(2, 3, 8, 8)
    profile(model, images)
    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())
    assert bool((model[0].weight.grad == 7.0).all())
    assert model[1].weight.grad is None
    assert [module.training for module in model.modules()] == modes
    assert torch.equal(images, torch.ones(2, 3, 8, 8))
    assert images.grad is None


def test_profiling_leaves_the_random_numbers_as_they_were() -> None:
    torch.manual_seed(3)
    expected = torch.rand(4)
    torch.manual_seed(3)
    profile(nn.Sequential(nn.Linear(8, 8), nn.Dropout()), torch.zeros(4, 8))
    # The layer's own weights are drawn before profiling; draw as many again.
    found = torch.rand(4)
    torch.manual_seed(3)
    nn.Linear(8, 8)
    assert torch.equal(found, torch.rand(4))
    assert not torch.equal(found, expected)


def test_an_error_leaves_the_model_as_it_was() -> None:
    model = nn.Sequential(nn.BatchNorm1d(8), nn.Linear(8, 8), Doubled())
    with pytest.raises(InputError):
        profile(model, torch.ones(4, 8))
    assert int(model[0].num_batches_tracked) == 0
    assert all(parameter.grad is None for parameter in model.parameters())


def test_profiling_works_where_gradients_are_off() -> None:
    model = nn.Sequential(nn.Linear(8, 2))
    with torch.no_grad():
        assert profile(model, torch.zeros(4, 8)).stage(1).backward_ns > 0
    with torch.inference_mode():
        assert profile(model, torch.zeros(4, 8)).stage(1).backward_ns > 0


def test_the_provenance_says_what_was_run_and_survives_the_file(tmp_path: Path) -> None:
    chain = profile(
        nn.Sequential(nn.Linear(8, 2)),
        torch.zeros(4, 8),
        model_arguments={"width": 2},
        warmup=1,
        repeats=4,
    )
    found = chain.provenance
    assert (found.source, found.device_kind) == ("torch-profile", "cpu")
    assert (found.model, dict(found.model_arguments)) == ("tiny", {"width": 2})
    assert (found.batch, found.input_shape, found.dtype) == (4, (4, 8), "float32")
    assert (found.warmup, found.repeats) == (1, 4)
    assert found.libraries["torch"] == torch.__version__
    assert found.libraries["python"] == platform.python_version()
    assert found.exporter == f"jettison {metadata.version('jettison')}"
    assert date.fromisoformat(str(found.date)) <= date.today()
    assert found.device
    stage = chain.stage(1)
    assert found.spread["0-Linear forward_ns"][1] == stage.forward_ns
    assert found.spread["0-Linear backward_ns"][1] == stage.backward_ns
    # Every stage and the loss, each from its fastest run to its slowest.
    assert len(found.spread) == 2 * len(chain)
    assert all(least <= median <= most for least, median, most in found.spread.values())
    save(chain, tmp_path / "chain.json")
    assert load(tmp_path / "chain.json") == chain


def test_a_stage_that_writes_into_its_input_is_refused() -> None:
    model = nn.Sequential(nn.Linear(8, 8), nn.ReLU(inplace=True))
    with pytest.raises(InputError, match=r"1-ReLU: .* in place.*inplace=False"):
        profile(model, torch.zeros(4, 8))


def test_a_stage_that_writes_into_a_view_of_its_input_is_refused() -> None:
    model = nn.Sequential(nn.Sequential(nn.Flatten(), nn.ReLU(inplace=True)), nn.Linear(8, 8))
    sample_input = -torch.ones(4, 2, 4)
    with pytest.raises(InputError, match=r"0-Sequential: .* in place"):
        profile(model, sample_input)
    assert torch.equal(sample_input, -torch.ones(4, 2, 4))


def test_writing_in_place_inside_a_stage_is_fine() -> None:
    model = nn.Sequential(nn.Sequential(nn.Linear(8, 16), nn.ReLU(inplace=True)))
    chain = profile(model, torch.zeros(4, 8))
    # One storage of 256 bytes from beginning to end.
    assert chain.stage(1).saved_bytes == 256
    assert chain.stage(1).forward_overhead_bytes == 0


@pytest.mark.parametrize(
    ("model", "sample_input", "message"),
    [
        (nn.Linear(2, 2), torch.zeros(1, 2), "Linear is not an nn.Sequential"),
        (nn.Sequential(), torch.zeros(1, 2), "the nn.Sequential is empty"),
        (nn.Sequential(nn.Linear(2, 2)).eval(), torch.zeros(1, 2), "model.train()"),
        (nn.Sequential(nn.Linear(2, 2)), [1.0, 2.0], "sample_input: a list is not a tensor"),
        (nn.Sequential(Doubled()), torch.zeros(1, 2), "0-Doubled: .* tuple.*wrap it"),
        (nn.Sequential(nn.Tanh()), torch.zeros(1, 2), "no gradient reaches"),
        (nn.Sequential(nn.Linear(2, 2, device="meta")), torch.zeros(1, 2), "0.weight is on meta"),
        (nn.Sequential(nn.Tanh()), torch.zeros(1, 2, device="meta"), "meta cannot be measured"),
    ],
)
def test_what_is_no_chain_is_refused_with_a_reason(
    model: Any, sample_input: Any, message: str
) -> None:
    with pytest.raises(InputError, match=message):
        profile(model, sample_input)


def test_a_stage_that_stops_the_gradient_is_refused() -> None:
    class Rounded(nn.Module):
        def forward(self, x: Any) -> Any:
            return x.argmax(dim=1)

    model = nn.Sequential(nn.Linear(2, 2), Rounded(), nn.Embedding(2, 2))
    with pytest.raises(InputError, match=r"1-Rounded: no gradient passes .*torch\.int64"):
        profile(model, torch.zeros(1, 2))


def test_a_loss_that_is_not_a_scalar_is_refused() -> None:
    with pytest.raises(InputError, match=r"loss: the loss has shape \(4, 2\)"):
        profile(nn.Sequential(nn.Linear(8, 2)), torch.zeros(4, 8), loss=lambda output: output)


@pytest.mark.parametrize("runs", [{"repeats": 0}, {"warmup": -1}])
def test_impossible_numbers_of_runs_are_refused(runs: dict[str, int]) -> None:
    with pytest.raises(InputError, match="repeat at least once"):
        profile(nn.Sequential(nn.Linear(8, 2)), torch.zeros(4, 8), **runs)


def test_without_pytorch_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch_chain, "util", SimpleNamespace(find_spec=lambda name: None))
    with pytest.raises(MissingExtraError, match=r"pip install 'jettison\[torch\]'"):
        profile(None, None)


def test_replaying_a_trace_finds_the_peak_of_every_window() -> None:
    from jettison.instances.profilers.device.memory_cpu import fill_windows
    from jettison.instances.profilers.device.memory_window import MemoryWindow

    def memory(ts: float, size: int, device: int = 0) -> dict[str, Any]:
        return {"name": "[memory]", "ts": ts, "args": {"Bytes": size, "Device Type": device}}

    def mark(number: int, ts: float, dur: float) -> dict[str, Any]:
        return {"name": f"jettison memory window {number}", "ph": "X", "ts": ts, "dur": dur}

    windows = [MemoryWindow(), MemoryWindow()]
    # 5 before; 5 -> 15 -> 12 in the first window; 32 between; 32 -> 2 -> 9 in the second. What
    # another device allocates does not count.
    events = [
        mark(1, 30.0, 5.0),
        memory(11.0, 10),
        memory(12.0, -3),
        memory(12.5, 1000, device=1),
        memory(1.0, 5),
        mark(0, 10.0, 5.0),
        memory(20.0, 20),
        memory(31.0, -30),
        memory(32.0, 7),
    ]
    fill_windows(windows, events)
    assert windows == [MemoryWindow(5, 15, 12), MemoryWindow(32, 32, 9)]


def test_the_versions_of_a_gpu_s_driver_and_libraries_are_recorded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from jettison.instances.profilers.device import device_name

    driver = tmp_path / "version"
    driver.write_text("NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.54.15  Tue\n", "utf-8")
    monkeypatch.setattr(device_name, "_DRIVER", driver)
    monkeypatch.setattr(torch.version, "cuda", "12.4")
    monkeypatch.setattr(torch.backends.cudnn, "is_available", lambda: True)
    monkeypatch.setattr(torch.backends.cudnn, "version", lambda: 90100)
    found = device_name.library_versions(torch.device("cuda", 0))
    assert (found["cuda"], found["cudnn"], found["driver"]) == ("12.4", "90100", "550.54.15")


def test_views_that_share_a_storage_are_no_copies_of_it() -> None:
    class Halves(nn.Module):
        def forward(self, x: Any) -> Any:
            left, right = (x + 1).chunk(2, dim=1)
            return left * right

    model = nn.Sequential(nn.Linear(8, 16), Halves())
    # The product saves both halves, which are views of the same 4*16*4 bytes; its own result has
    # 4*8*4.
    assert profile(model, torch.zeros(4, 8)).stage(2).saved_bytes == 256 + 128


def test_the_statistics_of_a_gpu_become_a_window(monkeypatch: pytest.MonkeyPatch) -> None:
    from jettison.instances.profilers.device.memory_cuda import CudaMemoryMeter
    from jettison.instances.profilers.device.memory_window import MemoryWindow

    # In use 5 before and 7 after the operation, 9 at the peak.
    in_use = iter([5, 7])
    for name, answer in {
        "synchronize": lambda device: None,
        "reset_peak_memory_stats": lambda device: None,
        "memory_allocated": lambda device: next(in_use),
        "max_memory_allocated": lambda device: 9,
        "max_memory_reserved": lambda device: 12,
    }.items():
        monkeypatch.setattr(torch.cuda, name, answer)
    with CudaMemoryMeter(torch.device("cuda", 0)) as meter, meter.window() as window:
        pass
    assert window == MemoryWindow(5, 9, 7, reserved_bytes=12)


def test_the_events_of_a_gpu_enclose_the_operation(monkeypatch: pytest.MonkeyPatch) -> None:
    from jettison.instances.profilers.device.timing import duration_ns

    happened: list[str] = []

    class Event:
        def __init__(self, *, enable_timing: bool) -> None:
            assert enable_timing

        def record(self) -> None:
            happened.append("record")

        def synchronize(self) -> None:
            happened.append("synchronize event")

        def elapsed_time(self, end: Any) -> float:
            return 1.5  # milliseconds

    monkeypatch.setattr(torch.cuda, "Event", Event)
    monkeypatch.setattr(torch.cuda, "synchronize", lambda device: happened.append("synchronize"))
    found = duration_ns(lambda: happened.append("operation"), torch.device("cuda", 0))
    assert found == 1_500_000
    assert happened == ["synchronize", "record", "operation", "record", "synchronize event"]


@pytest.mark.skipif(not torch.cuda.is_available(), reason="PyTorch sees no GPU here")
def test_a_gpu_finds_the_sizes_that_a_cpu_finds() -> None:
    def chain_on(device: str) -> Chain:
        model = nn.Sequential(nn.Linear(512, 1024), nn.GELU(), nn.Linear(1024, 256)).to(device)
        return profile(model, torch.zeros(64, 512, device=device))

    on_cpu, on_gpu = chain_on("cpu"), chain_on("cuda")
    assert on_gpu.provenance.device_kind == "cuda"
    # All sizes are multiples of the allocator's 512 bytes.
    assert [(s.output_bytes, s.saved_bytes, s.weight_bytes) for s in on_gpu.stages[:-1]] == [
        (s.output_bytes, s.saved_bytes, s.weight_bytes) for s in on_cpu.stages[:-1]
    ]
    assert all(stage.forward_ns > 0 and stage.backward_ns > 0 for stage in on_gpu)
