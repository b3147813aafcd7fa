"""Plans under torch.compile: what they promise, what is refused, and where they are stored."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from jettison import InputError
from tests.compiled_models import build_compiled

torch = pytest.importorskip("torch", reason="PyTorch is not installed (jettison[torch])")
executor: Any = pytest.importorskip("jettison.torch", exc_type=ImportError)

from torch._dynamo.backends.common import aot_autograd  # noqa: E402
from torch._dynamo.backends.debugging import boxed_nop  # noqa: E402

from jettison.instances.core.memory import parse_memory  # noqa: E402
from jettison.instances.profilers.torch_graphs.joint.joint_graph import read_joint_graph  # noqa: E402
from jettison.instances.profilers.torch_graphs.operator_cost import Roofline  # noqa: E402
from jettison.torch.compilation.plan_store import forget_plans, stored_plan  # noqa: E402
from jettison.torch.compilation.solved_plan import Planning, solve_plan  # noqa: E402

pytestmark = pytest.mark.torch
nn = torch.nn


@pytest.fixture(autouse=True)
def _fresh() -> Any:
    torch._dynamo.reset()
    forget_plans()
    yield
    torch._dynamo.reset()


class Seen(Exception):  # noqa: N818
    """Ends a compilation when the joint graph is there."""


def joint_of(model: Any, x: Any) -> Any:
    found: list[Any] = []

    def look(module: Any, inputs: Any, *, num_fwd_outputs: int, **kwargs: Any) -> Any:
        found.append(read_joint_graph(module, forward_outputs=num_fwd_outputs, cost=Roofline()))
        raise Seen

    backend = aot_autograd(
        fw_compiler=boxed_nop,
        bw_compiler=boxed_nop,
        partition_fn=look,
        keep_inference_input_mutations=True,
    )
    with pytest.raises(torch._dynamo.exc.BackendCompilerFailed):
        torch.compile(model, backend=backend, fullgraph=True, dynamic=False)(x)
    return found[0]


def test_the_measured_peak_is_the_predicted_one_where_kernels_have_no_memory_of_their_own() -> None:
    model, x = build_compiled("llama")
    run = executor.compiled(model, memory="75%", backend="aot_eager", most_moves=100_000)
    run(x).backward()
    for attempt in run.report.attempts:
        assert attempt.measured_peak_bytes == attempt.plan.predicted_peak_bytes
    assert run.predicted_peak_bytes <= run.report.limit_bytes
    assert run.report.reference_peak_bytes == run.report.attempts[0].measured_peak_bytes


def test_results_of_one_operator_have_lives_of_their_own() -> None:
    joint = joint_of(*build_compiled("resnet"))
    names = [node.name for node in joint.graph.nodes if not node.has_value]
    assert any("native_batch_norm_backward" in name for name in names)
    for name in names:
        results = [node for node in joint.graph.nodes if node.result_of == name]
        assert len(results) >= 2
    assert all(
        joint.graph.nodes[at].name.startswith(joint.operations[owner].name)
        for at, (owner, _) in enumerate(joint.owners)
    )


def test_an_output_that_the_user_holds_is_computed_once() -> None:
    joint = joint_of(*build_compiled("stateful"))
    held = [joint.graph.nodes[node] for node in joint.once]
    assert held
    assert all(node.keep for node in held)
    plan = solve_plan(joint, Planning(memory="75%", most_moves=100_000))
    computed = list(plan.schedule.computations)
    assert len(computed) > len(joint.graph)
    assert all(computed.count(node) == 1 for node in joint.once)


def test_two_solves_of_one_graph_give_one_plan_when_work_ends_them() -> None:
    joint = joint_of(*build_compiled("llama"))
    planning = Planning(memory="60%", time_limit_s=None, most_moves=100_000)
    first, second = solve_plan(joint, planning), solve_plan(joint, planning)
    assert first == second
    assert first.time_ns > first.base_time_ns


def test_a_plan_is_stored_in_a_folder_and_read_again(tmp_path: Path) -> None:
    joint = joint_of(*build_compiled("mlp"))
    planning = Planning(memory="80%", most_moves=100_000)
    first = stored_plan(joint, planning, tmp_path)
    forget_plans()
    assert stored_plan(joint, planning, tmp_path) == first
    (path,) = tmp_path.iterdir()
    document = json.loads(path.read_text())
    path.write_text(json.dumps({**document, "instance_sha256": "0" * 64}))
    forget_plans()
    with pytest.raises(InputError, match="instance_sha256"):
        stored_plan(joint, planning, tmp_path)
    path.write_text(json.dumps({**document, "operations": document["operations"][:-3]}))
    with pytest.raises(InputError, match="schedule"):
        stored_plan(joint, planning, tmp_path)


def test_sizes_that_are_not_known_are_refused_by_name() -> None:
    model = nn.Sequential(nn.Linear(4, 4), nn.Tanh())
    backend = aot_autograd(
        fw_compiler=boxed_nop, bw_compiler=boxed_nop, partition_fn=executor.partitioner("90%")
    )
    run = torch.compile(model, backend=backend, dynamic=True)
    with pytest.raises(Exception, match=r"model: .* compile with dynamic=False"):
        run(torch.randn(3, 4))


def test_a_model_of_several_graphs_is_refused() -> None:
    class Broken(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = nn.Linear(4, 4)

        def forward(self, x: Any) -> Any:
            y = self.layer(x)
            torch._dynamo.graph_break()
            return -y

    run = executor.compiled(Broken(), memory="90%", backend="aot_eager")
    with pytest.raises(InputError, match="does not compile into one graph"):
        run(torch.randn(3, 4))


def test_a_recurrent_network_compiles_into_one_graph_and_leaves_the_settings() -> None:
    class Tagger(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.recurrent = nn.LSTM(6, 5, batch_first=True)
            self.head = nn.Linear(5, 3)

        def forward(self, x: Any) -> Any:
            return self.head(self.recurrent(x)[0])

    torch.manual_seed(0)
    model, x = Tagger().double(), torch.randn(4, 5, 6).double()
    model(x).sin().sum().backward()
    expected = [item.grad.clone() for item in model.parameters()]
    model.zero_grad()
    before = torch._dynamo.config.allow_rnn
    run = executor.compiled(
        model, memory="90%", backend="aot_eager", cost=Roofline(), most_moves=100_000
    )
    run(x).sin().sum().backward()
    assert torch._dynamo.config.allow_rnn == before
    assert run.measured_peak_bytes <= run.report.limit_bytes
    for item, grad in zip(model.parameters(), expected, strict=True):
        assert torch.allclose(item.grad, grad, rtol=1e-12, atol=1e-12)


def test_a_limit_below_all_plans_is_one_error_with_the_least_memory() -> None:
    model, x = build_compiled("mlp")
    run = executor.compiled(model, memory=2048, backend="aot_eager")
    with pytest.raises(InputError, match=r"exact found no schedule within 2\.00 KiB") as raised:
        run(x)
    found = re.fullmatch(
        r"give more: .* \((\d+) bytes\) are needed at least, and .* \((\d+) bytes\) would do",
        raised.value.expected,
    )
    assert found is not None
    least, enough = map(int, found.groups())
    assert least < enough
    torch._dynamo.reset()
    with pytest.raises(InputError):
        executor.compiled(model, memory=least - 1, backend="aot_eager", most_moves=100_000)(x)
    torch._dynamo.reset()
    would_do = executor.compiled(model, memory=enough, backend="aot_eager", most_moves=100_000)
    would_do(x)
    assert would_do.measured_peak_bytes <= enough


def test_calls_without_gradients_make_no_plan() -> None:
    model, x = build_compiled("dropout")
    run = executor.compiled(model.eval(), memory="1 B", backend="aot_eager")
    with torch.no_grad():
        assert torch.equal(run(x), model(x))
    assert run.reports == []
    with pytest.raises(InputError, match="nothing has been compiled"):
        assert run.report


def test_each_shape_has_a_plan_of_its_own() -> None:
    model, x = build_compiled("mlp")
    run = executor.compiled(model, memory="100%", backend="aot_eager")
    for batch in (x, x[:100], x):
        run(batch).sum().backward()
    peaks = [report.reference_peak_bytes for report in run.reports]
    assert len(peaks) == 2
    assert peaks[1] < peaks[0]


def test_the_compiled_module_shares_the_parameters_and_the_mode() -> None:
    model, x = build_compiled("dropout")
    run = executor.compiled(model, memory="100%", backend="aot_eager")
    assert [*run.parameters()] == [*model.parameters()]
    run.eval()
    assert not model.training
    assert torch.equal(run(x), model(x))


def test_arguments_are_checked_when_they_are_given() -> None:
    with pytest.raises(InputError, match="backend: 'eager'"):
        executor.compiled(nn.Linear(2, 2), memory="50%", backend="eager")
    with pytest.raises(InputError, match="model: a function"):
        executor.compiled(lambda x: x, memory="50%")
    with pytest.raises(InputError, match="memory"):
        executor.partitioner("alpha=0.5")


def test_the_key_of_a_cache_follows_the_settings() -> None:
    keys = {executor.partitioner(memory).uuid() for memory in ("50%", "50 %", "60%", "1GiB")}
    assert len(keys) == 3
    assert executor.partitioner("50%", gap=0.1).uuid() not in keys
    assert executor.partitioner(parse_memory("50%")).uuid() in keys
