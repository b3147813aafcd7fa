"""Policies of `jettison export-policy --to jax`, and what JAX saves under them."""

from __future__ import annotations

import runpy
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from jettison import RematGraph, save, solve
from jettison.instances.core.errors import InputError
from jettison.instances.remat_graph.graph import Graph, Node
from jettison.schedules.core.schedule_file import save_schedule
from jettison.schedules.remat_graph.framework_policy import load_policy
from tests.cli.terminal import CommandLine

np = pytest.importorskip("numpy")
jax = pytest.importorskip("jax", reason="JAX is not installed (jettison[jax])")

import jax.numpy as jnp  # noqa: E402
from jax.ad_checkpoint import checkpoint_name  # noqa: E402

from jettison.jax import checkpointed, traced_graph  # noqa: E402

pytestmark = pytest.mark.jax


def loss(weights: Any, x: Any) -> Any:
    h = x
    for weight in weights:
        h = h + jax.nn.silu(h @ weight) @ weight.T
    return jnp.sum(h**2)


def arguments() -> tuple[Any, Any]:
    # Drawn by NumPy: JAX would compile each of its operations.
    draw = np.random.default_rng(0)
    weights = [jnp.asarray(draw.standard_normal((8, 32), np.float32)) for _ in range(3)]
    return weights, jnp.asarray(draw.standard_normal((32, 8), np.float32))


def names_of_residuals(function: Any, capsys: pytest.CaptureFixture[str]) -> set[str]:
    """Return the names of what JAX itself says that it saves."""
    capsys.readouterr()
    jax.ad_checkpoint.print_saved_residuals(function, *arguments())
    lines = capsys.readouterr().out.splitlines()
    return {line.split("'")[1] for line in lines if "named '" in line}


@pytest.fixture
def line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> CommandLine:
    save(traced_graph(loss, *arguments()), tmp_path / "step.json")
    return CommandLine(capsys, tmp_path)


def saved_names(line: CommandLine, name: str) -> set[str]:
    policy = load_policy(line.folder / name)
    return {value for value, again in policy.decisions.items() if not again}


def test_jax_saves_what_the_exported_file_says_and_computes_the_same(
    line: CommandLine, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("policy.json", "policy.py"):
        line.output("export-policy step.json --memory 70% --to jax -o", str(line.folder / name))
    planned = saved_names(line, "policy.json")
    policy = load_policy(line.folder / "policy.json")
    assert policy.time_ns > policy.base_time_ns
    assert policy.peak_bytes <= policy.memory_bytes
    assert all(bound.time_ns <= policy.time_ns for bound in policy.bounds)
    exported = runpy.run_path(str(line.folder / "policy.py"))
    assert set(exported["SAVED"]) == planned
    follows = exported["checkpointed"](loss)
    assert names_of_residuals(follows, capsys) == planned
    read = checkpointed(loss, *arguments(), policy=line.folder / "policy.json")
    assert set(read.plan.saved) == planned
    assert names_of_residuals(read, capsys) <= planned
    plain = jax.jit(jax.grad(loss))(*arguments())
    for function in (follows, read):
        found = jax.jit(jax.grad(function))(*arguments())
        for one, other in zip(found, plain, strict=True):
            assert float(abs(one - other).max()) <= 1e-5 * float(abs(other).max())


def test_with_a_bandwidth_the_file_says_what_moves_to_the_host(line: CommandLine) -> None:
    for name in ("policy.json", "policy.py"):
        line.output(
            "export-policy step.json --memory 70% --to jax --bandwidth 200GB/s -o",
            str(line.folder / name),
        )
    policy = load_policy(line.folder / "policy.json")
    assert policy.time_ns == policy.base_time_ns
    assert policy.offloaded
    exported = runpy.run_path(str(line.folder / "policy.py"))
    assert set(exported["OFFLOADED"]) == policy.offloaded
    assert set(exported["SAVED"]) == saved_names(line, "policy.json") - policy.offloaded
    text = str(jax.make_jaxpr(jax.grad(exported["checkpointed"](loss)))(*arguments()))
    assert text.count("MemorySpace.Host") == len(policy.offloaded)
    read = checkpointed(loss, *arguments(), policy=line.folder / "policy.json")
    assert set(read.plan.offloaded) == policy.offloaded


def test_the_python_file_needs_jax_only(line: CommandLine) -> None:
    line.output("export-policy step.json --memory 70% --to jax -o", str(line.folder / "policy.py"))
    code = "import sys, policy; assert not any(n.startswith('jettison') for n in sys.modules)"
    subprocess.run([sys.executable, "-c", code], cwd=line.folder, check=True)


def test_a_file_for_another_function_is_refused_when_it_is_called(line: CommandLine) -> None:
    line.output("export-policy step.json --memory 70% --to jax -o", str(line.folder / "policy.py"))
    exported = runpy.run_path(str(line.folder / "policy.py"))
    with pytest.raises(ValueError, match="no value has the name"):
        exported["checkpointed"](lambda weights, x: jnp.sum(x))(*arguments())


def test_a_plan_is_exported_as_it_is_or_refused(line: CommandLine) -> None:
    graph = traced_graph(loss, *arguments())
    plan = solve(RematGraph(graph, "70%"), "saved-or-once").schedule
    assert plan is not None
    save_schedule(plan, graph, line.folder / "plan.json")
    words = "export-policy step.json --memory 100% --to jax -o out.json --plan plan.json"
    line.output(words)
    assert load_policy(line.folder / "out.json").time_ns == plan.replay(graph).time_ns
    words = words.replace("100%", "30%")
    assert "where recomputation is as late as the policy makes it" in line.error(words)


def test_own_names_of_values_are_the_names_of_a_policy(
    line: CommandLine, capsys: pytest.CaptureFixture[str]
) -> None:
    def own(weights: Any, x: Any) -> Any:
        hidden = checkpoint_name(jnp.tanh(x @ weights[0]), "hidden")
        wide = checkpoint_name(jnp.sin(hidden @ weights[0].T), "wide")
        return jnp.sum(wide**2)

    nodes = (
        Node(name="hidden", duration_ns=5, output_bytes=4096),
        Node(name="wide", duration_ns=9, output_bytes=4096, inputs=("hidden",)),
        Node(name="loss", duration_ns=1, output_bytes=4, inputs=("wide",), keep=True),
        Node(
            name="slopes",
            duration_ns=9,
            output_bytes=64,
            inputs=("wide", "hidden", "loss"),
            backward=True,
            keep=True,
        ),
    )
    save(Graph("own", nodes), line.folder / "own.json")
    line.output("export-policy own.json --memory 100% --to jax -o", str(line.folder / "own.py"))
    exported = runpy.run_path(str(line.folder / "own.py"))
    assert names_of_residuals(exported["checkpointed"](own), capsys) == {"hidden", "wide"}


def looped(weights: Any, x: Any) -> Any:
    h, _ = jax.lax.scan(lambda h, weight: (h + jnp.tanh(h @ weight) @ weight.T, None), x, weights)
    return jnp.sum(jnp.sin(h) ** 2)


def test_a_policy_with_a_loop_is_for_the_library_which_ends_parts_there(line: CommandLine) -> None:
    weights, x = arguments()
    stacked = jnp.stack(weights)
    save(traced_graph(looped, stacked, x), line.folder / "looped.json")
    words = "export-policy looped.json --memory 100% --to jax -o"
    assert "write a .json file" in line.error(words, str(line.folder / "looped.py"))
    line.output(words, "looped-policy.json")
    followed = checkpointed(looped, stacked, x, policy=line.folder / "looped-policy.json")
    text = str(jax.make_jaxpr(jax.grad(followed))(stacked, x))
    assert text.count("scan[") == 2


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("module:step --memory 70% --to jax -o out.py", "traced_graph(loss, *arguments)"),
        ("step.json --memory 70% --to jax -o out.txt", "ends in .json or .py"),
        ("step.json --memory 70% --to jax -o out.py --region a", "has no regions"),
        ("step.json --memory 70% --to jax -o out.py --plan step.json", "kind"),
        (
            "step.json --memory 70% --to joint-graph -o out.json --bandwidth 1GB/s",
            "bandwidth: only",
        ),
        ("step.json --memory 70% --to jax -o out.json --bandwidth fast", "bandwidth: 'fast'"),
    ],
)
def test_bad_input_is_one_line(line: CommandLine, words: str, message: str) -> None:
    assert message in line.error(f"export-policy {words}")


def test_too_little_memory_ends_with_status_three_and_what_is_enough(line: CommandLine) -> None:
    code, _, err = line.run("export-policy step.json --memory 100B --to jax -o out.json")
    assert code == 3
    enough = int(err.split("; ")[1].split()[0])
    line.output(f"export-policy step.json --memory {enough}B --to jax -o out.json")
    line.output("export-policy step.json --memory 100% --to torchtitan -o titan.json")
    with pytest.raises(InputError, match="for torchtitan"):
        checkpointed(loss, *arguments(), policy=line.folder / "titan.json")
