"""Selective checkpointing of modules: predicted and measured memory, gradients, and refusals."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest

from jettison import InputError
from tests.torch import policy_models
from tests.torch.policy_models import batch, equal, gradients, layers, peak_bytes, plain, squares

torch = pytest.importorskip("torch", reason="PyTorch is not installed (jettison[torch])")
executor: Any = pytest.importorskip("jettison.torch", exc_type=ImportError)
nn = torch.nn

from jettison.instances.profilers.torch_graphs.operator_cost import Measured, Roofline  # noqa: E402
from jettison.torch.policies.counted_calls import (  # noqa: E402
    CountedCalls,
    OperatorMismatchError,
    SelectiveRegion,
    apply_regions,
    remove_regions,
)

pytestmark = pytest.mark.torch


def put_on(model: Any, x: Any, memory: str, **options: Any) -> Any:
    return executor.checkpoint_selective_optimal(
        model, memory=memory, sample_input=x, loss=squares, cost=Roofline(), **options
    )


@pytest.mark.parametrize("memory", ["95%", "80%", "70%"])
def test_peak_and_gradients_of_a_step_are_those_predicted(memory: str) -> None:
    model, x = layers(), batch()
    expected, _ = plain(model, x)
    found = put_on(model, x, memory)
    assert 0 < len(found.choice.saved) < len(found.choice.step.choices)
    assert found.choice.class_bound_ns == found.predicted.time_ns
    assert equal(gradients(model, lambda: squares(model(x))), expected)
    measured = peak_bytes(lambda: squares(model(x)))
    assert measured == found.predicted.peak_bytes <= found.choice.memory_bytes


def test_draws_are_the_same_in_the_second_run_and_cost_the_state_of_the_generator() -> None:
    model, x = layers(drop=0.2), batch()
    expected, _ = plain(model, x)
    found = put_on(model, x, "80%")
    assert equal(gradients(model, lambda: squares(model(x))), expected)
    states = len(found.regions) * torch.get_rng_state().nbytes
    assert peak_bytes(lambda: squares(model(x))) == found.predicted.peak_bytes + states


def test_attention_views_and_rectifiers_in_place_are_predicted() -> None:
    torch.manual_seed(0)
    model = nn.Sequential(
        *[
            nn.Sequential(policy_models.Attention(16, 2), nn.Linear(16, 16), nn.ReLU(inplace=True))
            for _ in range(3)
        ]
    )
    x = torch.linspace(-1, 1, 4 * 24 * 16).reshape(4, 24, 16)
    expected, _ = plain(model, x)
    found = put_on(model, x, "70%")
    assert equal(gradients(model, lambda: squares(model(x))), expected)
    rise = peak_bytes(lambda: squares(model(x)))
    # The kernel of attention allocates a little for itself.
    assert found.predicted.peak_bytes <= rise <= 1.35 * found.predicted.peak_bytes


def test_statistics_of_a_normalisation_are_updated_once() -> None:
    torch.manual_seed(0)
    model = nn.Sequential(
        *[nn.Sequential(nn.Linear(8, 8), nn.BatchNorm1d(8), nn.Tanh()) for _ in range(3)]
    )
    x = batch(16, 8)
    expected, buffers = plain(model, x)
    put_on(model, x, "90%")
    assert equal(gradients(model, lambda: squares(model(x))), expected)
    assert equal(list(model.buffers()), buffers)


def test_regions_may_be_named_and_checkpoints_taken_off() -> None:
    model, x = layers(), batch()
    found = put_on(model, x, "90%", regions=["1", "2.up"])
    assert [region.module for region in found.regions] == ["1", "2.up"]
    assert gradients(model, lambda: squares(model(x)))
    found.remove()
    assert all("forward" not in vars(module) for module in model.modules())


def test_a_model_that_calls_other_operators_is_refused_by_name() -> None:
    model, x = layers(), batch()
    put_on(model, x, "80%")
    model[1].drop = nn.Tanh()
    with pytest.raises(OperatorMismatchError, match=r"1: call \d+ is aten.tanh.default, and the"):
        model(x)


def test_a_model_that_calls_fewer_operators_is_refused() -> None:
    policy = CountedCalls(SelectiveRegion("0", ("aten.mm.default",), frozenset(), draws=False))
    with pytest.raises(OperatorMismatchError, match="0 calls, and the policy was made for 1"):
        policy.finish()


def test_a_module_is_checkpointed_once() -> None:
    model, x = layers(), batch()
    found = put_on(model, x, "80%")
    with pytest.raises(LookupError, match="call remove_regions first"):
        apply_regions(model, found.regions)
    remove_regions(model)
    with pytest.raises(LookupError, match="no module 'other'"):
        apply_regions(model, [SelectiveRegion("other", (), frozenset(), draws=False)])


def test_without_gradients_the_model_runs_as_it_is() -> None:
    model, x = layers(), batch()
    with torch.no_grad():
        expected = model(x)
        put_on(model, x, "80%")
        assert torch.equal(model(x), expected)


@pytest.mark.parametrize(
    ("options", "memory", "message"),
    [
        ({"regions": ["9"]}, "80%", "no module '9'"),
        ({"regions": ["1", "1.up"]}, "80%", "inside another region"),
        ({"regions": []}, "80%", "no module is there"),
        ({}, "2%", "no selective checkpointing of these regions"),
    ],
)
def test_bad_regions_and_memories_are_refused(options: Any, memory: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        put_on(layers(), batch(), memory, **options)


def test_a_model_in_evaluation_mode_is_refused() -> None:
    with pytest.raises(InputError, match="evaluation mode"):
        put_on(layers().eval(), batch(), "80%")


def test_a_module_that_is_called_twice_is_no_region() -> None:
    layer = policy_models.Layer(32, 0)
    with pytest.raises(InputError, match="'0' is called 2 times"):
        put_on(nn.Sequential(layer, nn.Identity(), layer), batch(), "80%", regions=["0"])


def test_what_convolutions_allocate_for_themselves_is_within_the_limit() -> None:
    torch.manual_seed(0)
    wide = (3, 16, 16, 16)
    blocks = [
        nn.Sequential(
            nn.Conv2d(before, after, 3, padding=1),
            nn.ReLU(),
            nn.Conv2d(after, after, 3, padding=1),
            nn.ReLU(),
        )
        for before, after in pairwise(wide)
    ]
    model = nn.Sequential(*blocks, nn.Flatten())
    x = torch.linspace(-1, 1, 4 * 3 * 24 * 24).reshape(4, 3, 24, 24)
    found = executor.checkpoint_selective_optimal(
        model,
        memory="90%",
        sample_input=x,
        loss=squares,
        cost=Measured(x.device, warmup=0, repeats=1),
    )
    workspaces = [node.workspace_bytes for node in found.choice.step.graph.nodes]
    assert max(workspaces) > 0
    measured = peak_bytes(lambda: squares(model(x)))
    assert measured <= 1.01 * found.choice.memory_bytes
    assert found.predicted.peak_bytes <= found.choice.memory_bytes
