from __future__ import annotations

from pathlib import Path

import pytest

from jettison import InputError, ShardedGraph, load
from jettison.instances.catalog import bundled_instances
from jettison.instances.core.json_file import write_json
from jettison.instances.generators.perceptron_program import (
    perceptron,
    perceptron_without_parameters,
)
from jettison.instances.tensor_programs.program_names import named_program, program_of
from jettison.instances.tensor_programs.program_on_mesh import ProgramOnMesh, on_v100_mesh
from jettison.instances.tensor_programs.repeated_layers import with_layers
from jettison.remat_sharding import Role

# Forward and backward operations, parameters and inputs of a program with its views folded. An
# encoder layer has 160 operations, but the first 151 with the inputs, the loss and no gradient
# into its input.
ENCODER_LAYER, ENCODER_REST = 160, -9


@pytest.mark.parametrize("layers", [1, 2, 4, 8, 12, 16, 20])
def test_an_encoder_of_any_depth_is_made_without_jax(layers: int) -> None:
    program = named_program(f"encoder-{layers}l")
    assert len(program) == ENCODER_LAYER * layers + ENCODER_REST
    graph = on_v100_mesh(program, (1, 4), 1, "g")
    assert len(graph) == len(program)
    # 16 weights and biases a layer, each with a gradient that is kept; and the loss.
    assert len(graph.parameters) == 16 * layers
    assert sum(operator.keep for operator in graph.operators) == 16 * layers + 1


@pytest.mark.parametrize("model", ["encoder", "decoder", "gpt"])
def test_layers_repeat_with_a_step_of_the_number_of_operations(model: str) -> None:
    sizes = [len(named_program(f"{model}-{layers}l")) for layers in (2, 3, 4, 5, 9)]
    step = sizes[1] - sizes[0]
    assert [size - sizes[0] for size in sizes] == [0, step, 2 * step, 3 * step, 7 * step]
    assert sizes[2] == len(named_program(f"{model}-4l"))


def test_four_layers_are_the_four_layers() -> None:
    four = named_program("encoder-4l")
    assert with_layers(four, 4, "encoder-4l") == four


def test_backward_operations_come_last_and_in_the_order_of_the_layers() -> None:
    roles = [operation.role for operation in named_program("decoder-3l").operations]
    order = [Role.PARAMETER, Role.INPUT, Role.FORWARD, Role.BACKWARD]
    assert roles == sorted(roles, key=order.index)


@pytest.mark.parametrize("layers", [0, 1, 1001])
def test_a_number_of_layers_out_of_range_is_refused(layers: int) -> None:
    with pytest.raises(InputError, match="layers"):
        with_layers(named_program("encoder-4l"), layers, "p")


def test_a_program_whose_layers_have_other_names_is_not_repeated() -> None:
    with pytest.raises(InputError, match="layer0 to layer3"):
        with_layers(perceptron(4, 8, 8), 3, "p")


@pytest.mark.parametrize("name", ["encoder", "encoder-0l", "encoder-04l", "mlp-27", "../x-4l"])
def test_a_name_that_is_unknown_is_refused_with_those_that_are_known(name: str) -> None:
    with pytest.raises(InputError, match="mlp-26, mlp-26-no-parameters, encoder-4l"):
        program_of(name)


def test_both_readings_of_the_small_perceptron_have_26_operators() -> None:
    with_weights, without = perceptron(), perceptron_without_parameters()
    assert (len(with_weights), with_weights.name) == (26, "mlp-26")
    assert (len(without), without.name) == (26, "mlp-26-no-parameters")
    roles = [operation.role for operation in with_weights.operations]
    # x, y; 6 weights; 6 products and the difference; 6 gradients of weights and 5 of layers.
    assert [roles.count(role) for role in Role] == [6, 2, 7, 11]
    roles = [operation.role for operation in without.operations]
    # x, y; 7 products, the difference, its square, their mean; the scaled gradient, 7 and 6.
    assert [roles.count(role) for role in Role] == [0, 2, 10, 14]


@pytest.mark.parametrize("size", [0, 2**17])
def test_a_perceptron_of_a_size_out_of_range_is_refused(size: int) -> None:
    with pytest.raises(InputError, match="hidden"):
        perceptron(hidden=size)


def test_a_graph_is_read_from_its_words(tmp_path: Path) -> None:
    words = ProgramOnMesh(name="mine", program="mlp-26", mesh=(2, 4), slowdown=10)
    write_json(words.to_json(), tmp_path / "mine.json")
    graph = load(tmp_path / "mine.json")
    assert graph == words.sharded_graph()
    assert isinstance(graph, ShardedGraph)
    assert (graph.name, graph.mesh, graph.provenance.device) == (
        "mine",
        (2, 4),
        "V100, assumed rates",
    )
    assert "divided by 10" in str(graph.provenance.note)


def test_a_file_of_words_names_a_program_and_no_other_file(tmp_path: Path) -> None:
    words = ProgramOnMesh(name="mine", program=str(tmp_path / "program.json"), mesh=(4,))
    write_json(words.to_json(), tmp_path / "mine.json")
    with pytest.raises(InputError, match=r"mine\.json: program"):
        load(tmp_path / "mine.json")


def test_strategies_of_another_graph_are_refused() -> None:
    words = ProgramOnMesh(name="mine", program="mlp-26", mesh=(1, 4), fastest=(0,))
    with pytest.raises(InputError, match="fastest"):
        words.sharded_graph()


def test_the_meshes_of_the_paper_are_bundled_with_a_fastest_plan() -> None:
    names = {entry.name for entry in bundled_instances() if entry.kind == "sharded-graph"}
    for model in ("encoder", "decoder"):
        for mesh in ("1x4", "1x8", "2x4", "4x2"):
            assert f"{model}-4l-mesh{mesh}" in names
    assert {"mlp-26", "mlp-26-no-parameters", "decoder-4l-mesh1x4-slow100"} <= names
    graph = load("mlp-26")
    assert isinstance(graph, ShardedGraph)
    assert len(graph.fastest) == 26
