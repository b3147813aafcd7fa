"""Training steps in JAX that are profiled."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from jettison import Graph, load
from tests.cli.terminal import Terminal

jax = pytest.importorskip("jax", reason="JAX is not installed (jettison[jax])")

from jettison.instances.profilers.shards import jax_run  # noqa: E402

pytestmark = pytest.mark.jax

OWN = """
import jax
import jax.numpy as jnp

def step(layers=2, tokens=None):
    def loss(weights, x, y):
        for k in range(layers):
            x = jnp.tanh(x @ weights[f"w{k}"])
        return jnp.mean((x - y) ** 2)
    square, rows = jax.ShapeDtypeStruct((8, 8), jnp.float32), jnp.zeros((4, 8))
    return loss, {f"w{k}": square for k in range(layers)}, (rows, rows)

def no_inputs():
    return jnp.mean, {}
"""
WORDS = ("profile", "own_steps:step", "--kind", "graph", "--repeats", "2", "--warmup", "0")


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a module of steps, which is the current one."""
    (tmp_path / "own_steps.py").write_text(OWN, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.delitem(sys.modules, "own_steps", raising=False)
    return tmp_path


def graph_in(path: Path) -> Graph:
    graph = load(path)
    assert isinstance(graph, Graph)
    return graph


def test_every_operation_of_a_step_is_measured_by_itself(here: Path, terminal: Terminal) -> None:
    code, _, err = terminal.run(*WORDS)
    assert code == 0, err
    graph = graph_in(here / "own_steps-step-b4-8-cpu-graph.json")
    products = [node for node in graph.nodes if "dot_general" in node.name]
    # Two products forward; backward two gradients of weights, and one of the layer between. Rows
    # are 4*8 numbers of 4 bytes, weights 8*8.
    assert sorted(node.output_bytes for node in products) == [128, 128, 128, 256, 256]
    assert [node.keep for node in products].count(True) == 2
    known = graph.provenance
    assert (known.source, known.device_kind, known.repeats) == ("jax-profile", "cpu", 2)
    assert known.model_arguments == {}
    assert known.libraries["jax"] == jax.__version__
    assert {name: triple[1] for name, triple in known.spread.items()} == {
        f"{node.name} duration_ns": node.duration_ns for node in graph.nodes
    }
    assert all(node.duration_ns > 0 for node in graph.nodes)


def test_a_roofline_has_the_same_operations_and_measures_none(
    here: Path, terminal: Terminal
) -> None:
    assert terminal.run(*WORDS)[0] == 0
    assert terminal.run(*WORDS, "--costs", "roofline", "-o", "roofline.json")[0] == 0
    measured = graph_in(here / "own_steps-step-b4-8-cpu-graph.json")
    assumed = graph_in(here / "roofline.json")
    assert [(node.name, node.inputs) for node in measured.nodes] == [
        (node.name, node.inputs) for node in assumed.nodes
    ]
    # 4*8*8 products on an A100 take no time beside the launch, 3 microseconds.
    assert assumed.nodes[0].duration_ns == 3001
    assert assumed.provenance.device == "A100 40 GB, assumed rates"
    assert assumed.provenance.spread == {}


def test_arguments_reach_the_function(here: Path, terminal: Terminal) -> None:
    assert terminal.run(*WORDS, "--set", "layers=3", "-o", "three.json")[0] == 0
    graph = graph_in(here / "three.json")
    assert sum("dot_general" in node.name for node in graph.nodes) == 3 + 3 + 2
    assert graph.provenance.model_arguments == {"layers": 3}


def test_a_profile_that_was_interrupted_goes_on_where_it_stopped(
    here: Path, terminal: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, measured = jax_run.JaxRun._run, []

    def stopping(self: Any, equation: Any) -> Any:
        if len(measured) == 2:
            raise KeyboardInterrupt
        measured.append(equation.primitive.name)
        return run(self, equation)

    with monkeypatch.context() as patch:
        patch.setattr(jax_run.JaxRun, "_run", stopping)
        code, _, err = terminal.run(*WORDS, "-o", "step.json")
    assert code == 130
    assert "2 operations are in" in err
    assert not (here / "step.json").exists()
    partial = json.loads((here / "step.json.partial").read_text(encoding="utf-8"))
    assert len(partial["measured"]) == 2
    code, _, err = terminal.run(*WORDS, "-o", "step.json")
    assert code == 0
    assert err.startswith("going on after 2 measured operations\n")
    assert not (here / "step.json.partial").exists()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("own_steps:step",), "a step in JAX is no chain; write graph or sharding"),
        (("own_steps:step", "--kind", "multi-model"), "no multi-model; write graph"),
        (("own_steps:no_inputs", "--kind", "graph"), r"return (loss, parameters, inputs)"),
        (("own_steps:step", "--kind", "graph", "--batch", "2"), "leave the option out"),
        (("own_steps:step", "--kind", "sharding"), "mesh: ''; write 8 or 2x4"),
    ],
)
@pytest.mark.usefixtures("here")
def test_what_cannot_be_profiled_is_refused_with_a_reason(
    terminal: Terminal, words: tuple[str, ...], message: str
) -> None:
    code, out, err = terminal.run("profile", *words)
    assert (code, out) == (2, "")
    assert message in err


@pytest.mark.usefixtures("here")
def test_a_device_that_jax_does_not_see_is_refused(terminal: Terminal) -> None:
    if any(device.platform == "gpu" for device in jax.devices()):
        pytest.skip("JAX sees a GPU here")
    code, _, err = terminal.run(*WORDS, "--device", "cuda")
    assert code == 2
    assert "JAX sees no GPU here" in err
