"""Profiler that swaps (µ-TWO, Algorithm A): limits are held, and sizes and values do not change."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from jettison.instances.core.errors import InputError
from jettison.instances.multi_model.instance import MultiModel

torch = pytest.importorskip("torch", reason="PyTorch is not installed (jettison[torch])")
nn = torch.nn

from jettison.instances.profilers.torch_graphs.fused.fused_profiles import (  # noqa: E402
    profile_multi_model,
)
from jettison.instances.profilers.torch_graphs.fused.fused_program import FusedProgram  # noqa: E402
from jettison.instances.profilers.torch_graphs.fused.optimizers import SGD, Adam  # noqa: E402
from jettison.instances.profilers.torch_graphs.fused.swapped_profiles import (  # noqa: E402
    profile_training,
)
from jettison.instances.profilers.torch_graphs.fused.swapping_run import (  # noqa: E402
    SwappingRun,
    least_profiling_bytes,
)
from jettison.instances.profilers.torch_graphs.operator_cost import Roofline  # noqa: E402
from jettison.instances.zoo.workload import TrainingStep  # noqa: E402

pytestmark = pytest.mark.torch

CPU = torch.device("cpu")
BATCH = (64, 16)


class Skips(nn.Module):
    """Wide layers over which a value is carried that waits for them in the forward pass."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.last = nn.Linear(16, 16), nn.Linear(32, 16)
        self.wide = nn.ModuleList([nn.Linear(16, 32), nn.Linear(32, 32)])

    def forward(self, x: Any) -> Any:
        carried = torch.tanh(self.first(x))
        found = carried
        for layer in self.wide:
            found = torch.tanh(layer(found))
        return carried + self.last(found)


def squares(output: Any) -> Any:
    return output.square().mean()


def steps(count: int) -> list[Any]:
    torch.manual_seed(0)
    return [TrainingStep(Skips().double(), squares) for _ in range(count)]


def batch() -> Any:
    return torch.randn(*BATCH, dtype=torch.float64)


def measured(memory_bytes: int | None) -> Any:
    return profile_training(
        steps(2),
        (batch(),),
        [SGD(0.1, momentum=0.9)] * 2,
        name="skips",
        model_name="skips",
        sizes=(2,),
        memory_bytes=memory_bytes,
        # From the second iteration on the gradients of the one before are there as well.
        warmup=1,
        repeats=1,
    )


def sizes_of(instance: MultiModel) -> list[Any]:
    maps = [
        (
            tensor.name,
            tensor.size_bytes,
            tensor.made_by,
            tensor.last_forward,
            tensor.first_backward,
            tensor.last_backward,
            tensor.recompute_bytes,
            tensor.sources,
        )
        for tensor in instance.feature_maps
    ]
    return [
        maps,
        [(work.name, work.peak_bytes, work.active_bytes) for work in instance.forward],
    ]


def test_a_step_larger_than_memory_is_measured_within_it() -> None:
    free = measured(None)
    least = least_profiling_bytes(free.programs[2])
    unconstrained = free.instance.sub_array(2).store_all_peak_bytes
    # Feature maps are swapped without a limit as well; what waits in the forward pass is not.
    assert least < free.profiles[2].peak_bytes < unconstrained
    assert free.profiles[2].evictions == 0
    for memory in (least, (least + unconstrained) // 2):
        within = measured(memory)
        assert within.profiles[2].peak_bytes <= memory
        assert sizes_of(within.instance) == sizes_of(free.instance)
    tight = measured(least).profiles[2]
    assert tight.evictions > 0
    # The operator that needs most has nothing else beside it.
    assert tight.peak_bytes == least
    with pytest.raises(InputError, match=f"memory: .* give .*{least}"):
        measured(least - 1)


def test_sizes_are_those_of_the_profile_that_runs_nothing() -> None:
    made = measured(None)
    plain = profile_multi_model(
        steps(1)[0].model,
        batch(),
        squares,
        Roofline(),
        models=2,
        bandwidth=10**9,
        name="skips",
        model_name="skips",
    )
    of_two = plain.sizes.index(2)
    maps, forward = sizes_of(made.instance)
    assert [item[:2] for item in maps] == [
        (tensor.name, (tensor.size_bytes[of_two],)) for tensor in plain.feature_maps
    ]
    assert [item[1] for item in forward] == [(work.peak_bytes[of_two],) for work in plain.forward]
    # The optimizer's step on each of the eight parameters comes last.
    updates = [work.name for work in made.instance.backward[len(plain.backward) :]]
    assert updates == [
        f"update.model.{layer}.{kind}"
        for layer in ("first", "last", "wide.0", "wide.1")
        for kind in ("weight", "bias")
    ]
    parameters = 2 * 8 * (17 * 16 + 33 * 16 + 17 * 32 + 33 * 32)
    # Momentum; minus_lr, momentum and decay of two models; and two losses.
    more = parameters + 3 * 2 * 8 + 2 * 8
    assert made.instance.static_bytes[0] == plain.static_bytes[of_two] + more


def test_what_is_held_beside_each_operator_is_what_the_instance_says() -> None:
    made = measured(None)
    array = made.instance.sub_array(2)
    held = made.profiles[2].held_bytes
    for work in (*array.forward, *array.backward):
        if work.name.startswith("update."):
            # No value of a pass is left: what is resident is all that there is.
            assert held[work.name] == array.static_bytes
        else:
            # Every idle feature map is on the host.
            assert held[work.name] == array.static_bytes + work.peak_bytes, work.name


def test_every_copy_is_timed_and_given_to_the_schedulers() -> None:
    made = measured(None)
    profile = made.profiles[2]
    assert set(profile.swaps) == {tensor.name for tensor in made.instance.feature_maps}
    for tensor in made.instance.feature_maps:
        times = profile.swaps[tensor.name]
        assert tensor.swap_ns == (max(times.out_ns, times.back_ns),)
        assert min(times.out_ns, times.back_ns) > 0
    works = [*made.instance.forward, *made.instance.backward]
    assert set(profile.spreads) == {work.name for work in works}
    assert all(work.run_ns == (profile.spreads[work.name][1],) for work in works)
    assert made.instance.bandwidth > 1
    assert made.instance.provenance.source == "torch-profile"


@pytest.mark.parametrize("optimizer", [SGD(0.1, momentum=0.5, weight_decay=0.1), Adam(0.1)])
def test_swapping_changes_no_bit_of_what_is_trained(optimizer: Any) -> None:
    program = FusedProgram.of(steps(2), (batch(),), [optimizer] * 2)
    batches = [torch.stack([batch(), batch()])]
    found = []
    for memory in (None, least_profiling_bytes(program)):
        tensors = program.tensors(steps(2), batches, CPU)
        SwappingRun(program, tensors, program.optimizer, CPU, memory).measure(warmup=1, repeats=2)
        found.append(tensors.parameters)
    assert found[0].keys() == found[1].keys()
    assert all(torch.equal(found[0][name], found[1][name]) for name in found[0])


def test_sizes_that_cannot_be_measured_are_left_out() -> None:
    def profiled(memory_bytes: int | None, sizes: Sequence[int]) -> Any:
        return profile_training(
            steps(3),
            (batch(),),
            [SGD()] * 3,
            name="skips",
            model_name="skips",
            sizes=sizes,
            memory_bytes=memory_bytes,
            warmup=0,
            repeats=1,
        )

    made = profiled(None, (2, 3))
    three = least_profiling_bytes(made.programs[3])
    assert profiled(three - 1, (2, 3)).instance.sizes == (2,)
    with pytest.raises(InputError, match="memory"):
        profiled(three - 1, (3,))
