"""Sharded graphs of tensor programs, as a user makes them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from jettison import ShardedGraph, load
from jettison.instances.generators.perceptron_program import perceptron
from jettison.instances.tensor_programs.program_file import save_program
from tests.cli.terminal import CommandLine

GENERATE = "generate sharded-graph --program"


def test_a_bundled_graph_is_what_the_command_writes(typed: CommandLine, tmp_path: Path) -> None:
    path = tmp_path / "graph.json"
    code, _, said = typed.run(f"{GENERATE} mlp-26 --mesh 8x1 -o {path}")
    assert code == 0
    assert "sharded-graph mlp-26-mesh8x1, 26 operators" in said
    made, bundled = load(path), load("mlp-26")
    assert isinstance(made, ShardedGraph)
    assert isinstance(bundled, ShardedGraph)
    assert (made.operators, made.resharding) == (bundled.operators, bundled.resharding)
    assert len(made.fastest) == 26


def test_a_slowdown_and_the_number_of_layers_are_taken(typed: CommandLine, tmp_path: Path) -> None:
    path = tmp_path / "graph.json"
    typed.output(f"{GENERATE} encoder-2l --mesh 4 --slowdown 10 --fastest skip -o {path}")
    graph = load(path)
    assert isinstance(graph, ShardedGraph)
    assert (graph.name, len(graph), graph.mesh) == ("encoder-2l-mesh4-slow10", 311, (4,))
    assert graph.fastest == ()
    # The sum of the gradient of a layer's first weight, 5120 x 5120 numbers, at 13 GB/s:
    # 10 us + 2 (3/4) 104857600 B / 13 B/ns.
    gradient = next(
        operator
        for operator in graph.operators
        if operator.keep and operator.operation == "dot_general" and "attention" in operator.name
    )
    assert max(item.communication_ns for item in gradient.strategies) == 10_000 + 12_098_954


def test_a_program_in_a_file_is_taken(typed: CommandLine, tmp_path: Path) -> None:
    save_program(perceptron(2, 8, 8), tmp_path / "mine.json")
    path = tmp_path / "graph.json"
    typed.output(f"{GENERATE} {tmp_path}/mine.json --mesh 2x2 -o {path}")
    assert len(load(path)) == 10


@pytest.mark.parametrize(
    ("words", "field"),
    [
        ("encoder --mesh 2x4", "program"),
        ("mlp-26 --mesh '2 by 4'", "mesh"),
        ("mlp-26 --mesh 2x2x2", "mesh"),
        ("mlp-26 --mesh 2x4 --slowdown 0", "slowdown"),
        ("absent.json --mesh 2x4", "absent.json"),
    ],
)
def test_what_cannot_be_made_is_bad_input_that_names_its_field(
    typed: CommandLine, tmp_path: Path, words: str, field: str
) -> None:
    assert field in typed.error(f"{GENERATE} {words} -o {tmp_path}/graph.json")
    assert not (tmp_path / "graph.json").exists()


def test_loading_a_bundled_graph_needs_no_jax() -> None:
    code = (
        "import sys, jettison\n"
        "sys.modules['jax'] = None\n"
        "print(len(jettison.load('encoder-4l-mesh1x4')))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "631"
