"""Kernels in a process of their own: what they allocate, and what becomes of those that crash."""

from __future__ import annotations

import sys
from typing import Any

import pytest

from jettison import InputError, RematGraph, solve

torch = pytest.importorskip("torch", reason="PyTorch is not installed (jettison[torch])")
executor: Any = pytest.importorskip("jettison.torch", exc_type=ImportError)
nn, aten = torch.nn, torch.ops.aten

from jettison.instances.profilers.cost_check import CostCheck  # noqa: E402
from jettison.instances.profilers.device.allocated_size import (  # noqa: E402
    allocated_bytes,
    cuda_block_bytes,
)
from jettison.instances.profilers.kernels.call_memory import (  # noqa: E402
    CallFailure,
    CallMemory,
    FailureKind,
)
from jettison.instances.profilers.kernels.kernel_call import KernelCall  # noqa: E402
from jettison.instances.profilers.kernels.kernel_process import (  # noqa: E402
    KernelProcess,
    KernelProcessError,
    shared_process,
)
from jettison.instances.profilers.profile_warning import ProfileWarning  # noqa: E402
from jettison.instances.profilers.torch_chains.profiled_chain import profile_chain  # noqa: E402
from jettison.instances.profilers.torch_graphs.operator_cost import Roofline  # noqa: E402
from jettison.instances.profilers.torch_graphs.operator_memory import (  # noqa: E402
    MeasuredMemory,
)

pytestmark = pytest.mark.torch

CPU = torch.device("cpu")
MIB = 2**20


def described(target: Any, *arguments: Any, **options: Any) -> KernelCall:
    call = KernelCall.of(target, arguments, options)
    assert call is not None
    return call


def product(size: int) -> KernelCall:
    return described(aten.mm.default, torch.empty(size, size), torch.empty(size, size))


def backward_of_group_norm(*mask: bool) -> KernelCall:
    """A call that crashes with the mask (False, True, True) in PyTorch 2.13."""
    x = torch.empty(4, 8, 6, 6).to(memory_format=torch.channels_last)
    given = (x, x, torch.empty(4, 2), torch.empty(4, 2), torch.empty(8), 4, 8, 36, 2, list(mask))
    return described(aten.native_group_norm_backward.default, *given)


@pytest.mark.parametrize(
    ("arguments", "options"),
    [
        ((torch.ones(3, 4).t(), 2.5, None, True, "sum"), {"dtype": torch.bfloat16}),
        (([torch.ones(2), torch.zeros(1, dtype=torch.int64)], (1, 2), float("inf")), {}),
        ((torch.ones(1).expand(5), 1j), {"memory_format": torch.channels_last}),
        ((), {"layout": torch.strided, "device": CPU}),
    ],
)
def test_a_call_is_the_same_after_it_was_plain_data(arguments: Any, options: Any) -> None:
    call = described(aten.add.Tensor, *arguments, **options)
    prepared = call.prepared()
    assert prepared.target is aten.add.Tensor
    assert KernelCall.of(prepared.target, prepared.arguments, prepared.options) == call


def test_what_plain_data_cannot_describe_has_no_description() -> None:
    assert KernelCall.of(torch.add, (torch.ones(1),), {}) is None
    assert KernelCall.of(aten.add.Tensor, (torch.ones(1).to_sparse(),), {}) is None
    assert KernelCall.of(aten.add.Tensor, (object(),), {}) is None


def test_a_process_says_what_calls_allocate_with_results_and_what_they_free_again() -> None:
    image, kernel = torch.empty(2, 16, 24, 24), torch.empty(32, 16, 2, 2)
    strided = described(
        aten.convolution.default, image, kernel, None, [2, 2], [0, 0], [1, 1], False, [0, 0], 1
    )
    view = described(aten.view.default, torch.empty(4, 4), [16])
    wrong = described(aten.mm.default, torch.empty(2, 3), torch.empty(2, 3))
    found = shared_process().memory([product(50), strided, view, wrong, product(50)], CPU)
    # 50 x 50 numbers of 4 bytes.
    assert found[0] == found[4] == CallMemory(10_000, (10_000,))
    assert isinstance(found[1], CallMemory)
    # 2 x 32 x 12 x 12 numbers; the kernel works on a copy of the image besides.
    assert found[1].results_bytes == (36_864,)
    assert found[1].rise_bytes >= 36_864 + image.nbytes
    assert found[2] == CallMemory(0, (0,))
    assert isinstance(found[3], CallFailure)
    assert found[3].kind is FailureKind.ERROR
    assert "mat1 and mat2" in found[3].message


def test_a_kernel_that_crashes_ends_its_process_and_is_named_and_the_others_are_measured() -> None:
    crashing = backward_of_group_norm(False, True, True)
    calls = [product(8), crashing, backward_of_group_norm(True, True, True), product(9)]
    found = shared_process().memory(calls, CPU)
    assert found[0] == CallMemory(256, (256,))
    assert found[3] == CallMemory(324, (324,))
    assert isinstance(found[2], CallMemory)
    if isinstance(found[1], CallFailure):
        assert found[1] == CallFailure(FailureKind.CRASH, "the process ended by signal 11")
    # What is known is not asked again.
    assert shared_process().memory([crashing], CPU) == [found[1]]


# Answers as the real program does, but dies at each product of 13 columns, and one call after each
# of 17, as if that had written where it must not.
FRAGILE = """
import json, os, sys
print(json.dumps({"ready": 1}), flush=True)
broken = False
for line in sys.stdin:
    calls = json.loads(line)["calls"]
    found = []
    for number, text in enumerate(calls):
        print(json.dumps({"begins": number}), flush=True)
        if broken or '"size":[13,13]' in text:
            os._exit(7)
        broken = '"size":[17,17]' in text
        found.append({"rise_bytes": len(calls), "results_bytes": []})
    if broken:
        os._exit(7)
    print(json.dumps({"found": found}), flush=True)
"""


def test_a_crash_is_laid_at_the_call_that_crashes_alone() -> None:
    process = KernelProcess([sys.executable, "-c", FRAGILE])
    found = process.memory([product(size) for size in (2, 13, 3)], CPU)
    assert isinstance(found[1], CallFailure)
    assert found[1].message == "the process ended with status 7"
    # The two others are measured together, in another process.
    assert found[0] == found[2] == CallMemory(2, ())
    process.close()


def test_a_call_that_spoils_the_process_for_the_next_one_is_found() -> None:
    process = KernelProcess([sys.executable, "-c", FRAGILE])
    found = process.memory([product(size) for size in (2, 17, 3)], CPU)
    assert [isinstance(item, CallFailure) for item in found] == [False, True, False]
    process.close()


def test_a_process_that_does_not_start_is_an_error() -> None:
    for command in (["", "-c", ""], ["/absent/python"], [sys.executable, "-c", "raise OSError(3)"]):
        process = KernelProcess(command)
        with pytest.raises(KernelProcessError):
            process.memory([product(2)], CPU)
        with pytest.raises(InputError, match="no process can be started in which kernels run"):
            traced(nn.Linear(4, 4), torch.ones(2, 4), process)


def traced(model: Any, x: Any, process: KernelProcess | None = None) -> Any:
    memory = MeasuredMemory(CPU, process=process)
    return executor.trace_step_program(
        model, x, loss=lambda output: output.square().sum(), cost=Roofline(), memory=memory
    )


def test_results_stay_together_where_the_kernel_crashes_on_a_part_of_them() -> None:
    model = nn.Sequential(nn.Conv2d(3, 8, 1), nn.GroupNorm(2, 8), nn.SiLU())
    program = traced(model, torch.randn(2, 3, 6, 6).to(memory_format=torch.channels_last))
    names = [node.name for node in program.graph.nodes]
    crashes = isinstance(
        shared_process().memory([backward_of_group_norm(False, True, True)], CPU)[0], CallFailure
    )
    assert ("native_group_norm_backward.weights" in names) != crashes
    problem = RematGraph(program.graph, "100%")
    step = executor.CheckpointedStep(program, problem, solve(problem, "store-all").schedule)
    x = torch.randn(2, 3, 6, 6).to(memory_format=torch.channels_last)
    step(x).backward()
    found = [parameter.grad.clone() for parameter in model.parameters()]
    model.zero_grad()
    model(x).square().sum().backward()
    for mine, parameter in zip(found, model.parameters(), strict=True):
        torch.testing.assert_close(mine, parameter.grad)


def test_an_operator_of_ones_own_is_measured_in_this_process() -> None:
    @torch.library.custom_op("jettison_tests::doubled", mutates_args=())
    def doubled(x: torch.Tensor) -> torch.Tensor:
        return x + (x * 1).clone()

    @doubled.register_fake
    def _(x: Any) -> Any:
        return torch.empty_like(x)

    doubled.register_autograd(lambda _, gradient: 2 * gradient)

    class Own(nn.Module):
        def forward(self, x: Any) -> Any:
            return doubled(x)

    program = traced(nn.Sequential(nn.Linear(4, 4), Own()), torch.ones(32, 4))
    node = next(node for node in program.graph.nodes if "doubled" in node.name)
    # One copy beside the result, and for a moment what it is a copy of.
    assert node.output_bytes == 512
    assert node.workspace_bytes >= 512


def test_what_does_not_run_on_made_up_numbers_is_warned_of() -> None:
    @torch.library.custom_op("jettison_tests::negative", mutates_args=())
    def negative(x: torch.Tensor) -> torch.Tensor:
        # What the model computes below is -1.
        if bool((x > 0).any()):
            raise ValueError("a positive number")
        return x.clone()

    @negative.register_fake
    def _(x: Any) -> Any:
        return torch.empty_like(x)

    negative.register_autograd(lambda _, gradient: gradient)

    class Own(nn.Module):
        def forward(self, x: Any) -> Any:
            return negative(x)

    expected = r"1 operators do not run .* jettison_tests.negative.default \(a positive number\)"
    layer = nn.Linear(4, 4)
    nn.init.zeros_(layer.weight)
    nn.init.constant_(layer.bias, -1)
    with pytest.warns(ProfileWarning, match=expected):
        traced(nn.Sequential(layer, Own()), torch.ones(32, 4))


@pytest.mark.parametrize(
    ("size_bytes", "block_bytes"),
    [
        (0, 0),
        (1, 512),
        (512, 512),
        (513, 1024),
        (MIB, MIB),
        # From a segment of 20 MiB, the rest of which is cut off.
        (MIB + 1, MIB + 512),
        # From segments of their own, in steps of 2 MiB: a rest up to 1 MiB stays with the block.
        (10 * MIB, 10 * MIB),
        (11 * MIB, 12 * MIB),
        (11 * MIB - 1, 11 * MIB + MIB),
        (10 * MIB + 1, 10 * MIB + 512),
        (12 * MIB - 5, 12 * MIB),
    ],
)
def test_a_block_of_a_gpu_is_as_large_as_its_allocator_makes_it(
    size_bytes: int, block_bytes: int
) -> None:
    assert cuda_block_bytes(size_bytes) == block_bytes
    assert allocated_bytes(size_bytes, torch.device("cuda", 0)) == block_bytes
    assert allocated_bytes(size_bytes, CPU) == size_bytes


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_blocks_of_a_gpu_are_as_large_as_predicted() -> None:
    device = torch.device("cuda", 0)
    torch.cuda.empty_cache()
    for size_bytes in (1, 513, MIB + 1, 10 * MIB + 1, 11 * MIB, 30 * MIB + 4321):
        torch.cuda.empty_cache()
        before = torch.cuda.memory_allocated(device)
        tensor = torch.empty(size_bytes, dtype=torch.uint8, device=device)
        assert torch.cuda.memory_allocated(device) - before == cuda_block_bytes(size_bytes)
        del tensor


def test_a_chain_whose_plain_step_crashes_is_one_error() -> None:
    images = torch.randn(2, 4, 2, 2).to(memory_format=torch.channels_last)
    model = nn.Sequential(nn.GroupNorm(2, 4), nn.Flatten(), nn.Linear(16, 2))
    crashes = isinstance(
        shared_process().memory([backward_of_group_norm(False, True, True)], CPU)[0], CallFailure
    )
    options: dict[str, Any] = {"warmup": 0, "repeats": 1, "check": CostCheck.TRUST}
    names = {"name": "norm first", "model_name": "norm first"}
    if crashes:
        # A profile that ran the kernel here would end this program.
        with pytest.raises(InputError, match=r"^0-GroupNorm: .*group_norm_backward.* crash"):
            profile_chain(model, images, **names, **options)
    # With the advice of the message, and in row-major layout, it is measured.
    for batch in (images.requires_grad_(), torch.randn(2, 4, 2, 2)):
        assert profile_chain(model, batch, **names, **options).stage(1).backward_ns > 0


def test_a_model_whose_plain_step_crashes_is_one_error() -> None:
    # The gradients of the group norm's weights alone, in channels-last layout: PyTorch 2.13 crashes
    # on them in the plain step too. The trace runs no kernel, and the measurement none here: if one
    # of them did, this program would end.
    images = torch.randn(2, 4, 2, 2).to(memory_format=torch.channels_last)
    errors = []
    try:
        traced(nn.Sequential(nn.GroupNorm(2, 4)), images)
    except InputError as error:
        errors.append(str(error))
    # None where PyTorch has mended its kernel.
    for message in errors:
        assert "\n" not in message
        assert "the kernel of aten.native_group_norm_backward.default crashes on" in message
        assert "leave it out of the model" in message
