"""Policy files that the command line writes, as PyTorch and torchtitan run them."""

from __future__ import annotations

import sys
import types
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from jettison.cli.main import main
from jettison.schedules.remat_graph.framework_policy import Policy, load_policy
from tests.torch.policy_models import batch, equal, gradients, layers, peak_bytes, plain, squares

torch = pytest.importorskip("torch", reason="PyTorch is not installed (jettison[torch])")
executor: Any = pytest.importorskip("jettison.torch", exc_type=ImportError)

from torch._dynamo.backends.common import aot_autograd  # noqa: E402
from torch._dynamo.backends.debugging import boxed_nop  # noqa: E402
from torch._functorch import config  # noqa: E402
from torch._functorch.aot_autograd import aot_export_module  # noqa: E402
from torch._functorch.partitioners import min_cut_rematerialization_partition  # noqa: E402

pytestmark = pytest.mark.torch

SOURCE = "tests.torch.policy_source:build"


@pytest.fixture(autouse=True)
def _fresh_compiler() -> Iterator[None]:
    torch._dynamo.reset()
    yield
    torch._dynamo.reset()


def exported(folder: Path, target: str, memory: str = "80%") -> tuple[dict[str, Any], Policy]:
    """Return the names of the Python file of a policy, and the policy from its JSON file."""
    for suffix in (".py", ".json"):
        path = folder / f"policy{suffix}"
        arguments = ["export-policy", SOURCE, "--memory", memory, "--to", target]
        with pytest.raises(SystemExit) as end:
            main([*arguments, "-o", str(path), "--costs", "roofline", "--name", "ours"])
        assert end.value.code == 0
    module = types.ModuleType(f"policy_for_{target.replace('-', '_')}")
    sys.modules[module.__name__] = module
    path = folder / "policy.py"
    try:
        exec(compile(path.read_text(encoding="utf-8"), str(path), "exec"), vars(module))
    finally:
        del sys.modules[module.__name__]
    text = path.read_text(encoding="utf-8")
    assert "jettison." not in text.split('"""', 2)[2]
    return vars(module), load_policy(folder / "policy.json")


def compiled(model: Any, partition: Any) -> Any:
    backend = aot_autograd(fw_compiler=boxed_nop, partition_fn=partition)
    return torch.compile(lambda x: squares(model(x)), backend=backend, dynamic=False)


def test_a_selective_policy_is_applied_to_a_new_model(tmp_path: Path) -> None:
    names, policy = exported(tmp_path, "torch-sac")
    model, x = layers(), batch()
    expected, _ = plain(model, x)
    names["apply"](model)
    assert equal(gradients(model, lambda: squares(model(x))), expected)
    assert peak_bytes(lambda: squares(model(x))) == policy.peak_bytes
    names["remove"](model)
    assert peak_bytes(lambda: squares(model(x))) > policy.peak_bytes


def test_a_policy_of_a_joint_graph_is_a_partition_function(tmp_path: Path) -> None:
    names, policy = exported(tmp_path, "joint-graph")
    model, x = layers(), batch()
    expected, _ = plain(model, x)
    step = compiled(model, names["partition"])
    assert equal(gradients(model, lambda: step(x)), expected)
    assert peak_bytes(lambda: step(x)) == pytest.approx(policy.peak_bytes, abs=16)
    assert names["DECISIONS"] == dict(policy.decisions)
    assert sum(policy.decisions.values()) > 0


def test_a_policy_for_the_knapsack_is_one_setting(tmp_path: Path) -> None:
    names, policy = exported(tmp_path, "torch-knapsack")
    model, x = layers(), batch()
    expected, _ = plain(model, x)
    step = compiled(model, min_cut_rematerialization_partition)
    with config.patch(names["SETTINGS"]):
        assert equal(gradients(model, lambda: step(x)), expected)
    assert peak_bytes(lambda: step(x)) == pytest.approx(policy.peak_bytes, abs=16)


@pytest.fixture(params=["stand-in", "torchtitan"])
def registry(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> Iterator[dict[str, Any]]:
    """The registry of torchtitan, or one in its place, which needs PyTorch only."""
    path = "torchtitan.experiments.graph_trainer.registry"
    if request.param == "torchtitan":
        own: dict[str, Any] = pytest.importorskip(path, exc_type=ImportError).MEMORY_POLICY_REGISTRY
        yield own
        del own["ours"]
        return
    found: dict[str, Any] = {}
    for length in range(1, 5):
        part = ".".join(path.split(".")[:length])
        monkeypatch.setitem(sys.modules, part, types.ModuleType(part))

    def register(name: str) -> Any:
        return lambda function: found.setdefault(name, function)

    monkeypatch.setattr(sys.modules[path], "register_memory_policy", register, raising=False)
    yield found


def test_a_policy_for_torchtitan_registers_itself_and_tags_the_graph_of_a_step(
    tmp_path: Path, registry: dict[str, Any]
) -> None:
    """PyTorch has the pass that torchtitan runs after the tags."""
    _, policy = exported(tmp_path, "torchtitan")
    model, x = layers(), batch()
    module, _ = aot_export_module(_Step(model), (x,), trace_joint=True, output_loss_index=0)
    nodes = [node for node in module.graph.nodes if node.op != "output"]
    seed = next(n for n in nodes if n.target is torch.ops.aten.ones_like.default)
    for node in nodes[nodes.index(seed) :]:
        node.meta["autograd_backward"] = True
    tagged = registry["ours"](module, config=None)
    assert tagged is module
    again = {name for name, runs_again in policy.decisions.items() if runs_again}
    passes = "torch._functorch._activation_checkpointing."
    passes += "remat_using_tags_for_fwd_loss_bwd_graph_pass"
    before = module(*model.parameters(), x)
    made = import_module(passes).remat_using_tags_for_fwd_loss_bwd_graph(module)
    copies = {n.name.removesuffix("_recomputed") for n in made.graph.nodes if "_recomp" in n.name}
    assert again <= copies
    after = made(*model.parameters(), x)
    assert all(torch.equal(*pair) for pair in zip(before, after, strict=True))


class _Step(torch.nn.Module):
    def __init__(self, model: Any) -> None:
        super().__init__()
        self.model = model

    def forward(self, x: Any) -> Any:
        return (squares(self.model(x)),)
