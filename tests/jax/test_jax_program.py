from __future__ import annotations

from importlib import util
from typing import Any

import pytest

from jettison.instances.core.errors import InputError, MissingExtraError
from jettison.instances.importers.jax_program import trace_training_step
from jettison.instances.remat_sharding.operator import Role
from jettison.instances.tensor_programs.fold_views import fold_views
from jettison.instances.tensor_programs.program_graph import program_graph
from jettison.instances.tensor_programs.program_names import TRANSFORMERS, named_program
from jettison.instances.tensor_programs.tensor_program import TensorProgram

jax = pytest.importorskip("jax", reason="JAX is not installed (jettison[jax])")

import jax.numpy as jnp  # noqa: E402

from jettison.instances.zoo.jax_networks import (  # noqa: E402
    TRACERS,
    TransformerSize,
    trace_mlp,
)

pytestmark = pytest.mark.jax


def tensor(*shape: int) -> Any:
    return jax.ShapeDtypeStruct(shape, jnp.float32)


def lines(program: TensorProgram) -> list[str]:
    return [
        f"{item.role}: {item.name} = {item.primitive} {item.subscripts} {' '.join(item.operands)}"
        for item in program.operations
    ]


def test_a_step_has_the_operations_of_its_loss_and_of_its_gradients() -> None:
    def loss(weights: Any, x: Any) -> Any:
        found = x @ weights["a"] @ weights["b"]
        return jnp.sum(found * found)

    weights = {"a": tensor(4, 6), "b": tensor(6, 8)}
    program = fold_views(trace_training_step(loss, weights, (tensor(16, 4),), name="p"))
    # The gradient of a square is that of both of its factors; of a product y = x b it is x^T dy and
    # dy b^T, whose transpositions are folded.
    assert lines(program) == [
        "parameter: a = parameter ->ab ",
        "parameter: b = parameter ->ab ",
        "input: input0 = input ->ab ",
        "forward: dot_general.0 = dot_general ba,ac->bc input0 a",
        "forward: dot_general.1 = dot_general ba,ac->bc dot_general.0 b",
        "forward: mul.0 = mul ab,ab->ab dot_general.1 dot_general.1",
        "forward: reduce_sum.0 = reduce_sum ab-> mul.0",
        "backward: mul.1 = mul ab->ab dot_general.1",
        "backward: mul.2 = mul ab->ab dot_general.1",
        "backward: add_any.0 = add_any ab,ab->ab mul.1 mul.2",
        "backward: dot_general.2 = dot_general ab,ac->bc add_any.0 dot_general.0",
        "backward: dot_general.3 = dot_general ba,ca->bc add_any.0 b",
        "backward: dot_general.4 = dot_general ab,ac->bc dot_general.3 input0",
    ]
    kept = [item.name for item in program.operations if item.keep]
    assert kept == ["reduce_sum.0", "dot_general.2", "dot_general.4"]


def test_a_perceptron_has_a_product_forward_and_two_backward_in_each_layer() -> None:
    program = fold_views(trace_mlp(3, 16, 8, "mlp"))
    dots = [item for item in program.operations if item.primitive == "dot_general"]
    # Three forward; three gradients of weights, and two of layers.
    assert [sum(item.role is role for item in dots) for role in (Role.FORWARD, Role.BACKWARD)] == [
        3,
        5,
    ]
    assert {item.scope for item in dots} == {"layer0", "layer1", "layer2"}
    # 2 x 16 x 8 x 8 operations each.
    assert {item.flops for item in dots} == {2048}
    gradients = [item for item in dots if item.keep]
    assert {item.shape for item in gradients} == {(8, 8)}
    # A gradient contracts over the batch of 16.
    for item in gradients:
        assert {program.named[name].shape for name in item.operands} == {(16, 8)}


def test_calls_rematerialisation_and_own_derivatives_are_inlined() -> None:
    @jax.custom_jvp
    def cube(x: Any) -> Any:
        return x * x * x

    @cube.defjvp
    def _(primals: Any, tangents: Any) -> Any:
        return cube(primals[0]), 3 * primals[0] ** 2 * tangents[0]

    def loss(weight: Any, x: Any) -> Any:
        hidden = jax.checkpoint(jax.jit(lambda w, x: cube(x @ w)))(weight, x)
        return jnp.sum(jax.nn.relu(hidden))

    program = trace_training_step(loss, tensor(4, 4), (tensor(8, 4),), name="p")
    primitives = {item.primitive for item in program.operations}
    assert not primitives & {"jit", "pjit", "checkpoint", "remat2", "custom_jvp_call"}
    assert "dot_general" in primitives


def test_what_depends_on_no_parameter_and_no_input_is_left_out() -> None:
    def loss(weight: Any, x: Any) -> Any:
        mask = jnp.tril(jnp.ones((8, 8), bool))
        return jnp.sum(jnp.where(mask, x * weight, 0.0))

    program = fold_views(trace_training_step(loss, tensor(8, 8), (tensor(8, 8),), name="p"))
    # Nothing is left of the mask, and of the gradient of the sum, which is all ones.
    assert lines(program) == [
        "parameter: parameter = parameter ->ab ",
        "input: input0 = input ->ab ",
        "forward: mul.0 = mul ab,ab->ab input0 parameter",
        "forward: select_n.0 = select_n ab->ab mul.0",
        "forward: reduce_sum.0 = reduce_sum ab-> select_n.0",
        "backward: mul.1 = mul ab->ab input0",
    ]


def test_convolutions_are_split_along_batch_and_channels() -> None:
    def loss(weights: Any, x: Any) -> Any:
        found = jax.lax.conv_general_dilated(x, weights, (1, 1), "SAME")
        return jnp.sum(found * found)

    program = trace_training_step(loss, tensor(12, 4, 3, 3), (tensor(8, 4, 16, 16),), name="p")
    found = [item for item in program.operations if item.primitive == "conv_general_dilated"]
    assert [item.role for item in found] == [Role.FORWARD, Role.BACKWARD]
    assert found[0].subscripts == "ab..,cb..->ac.."
    # Two for each of 8 x 12 x 16 x 16 results and 4 x 3 x 3 products.
    assert found[0].flops == 2 * 8 * 12 * 256 * 36
    # The gradient of the windows contracts over the batch of 8 and keeps both channels.
    axes = program.axes(found[1])
    assert sorted(axes.values()) == [4, 8, 12]


def test_a_loop_is_refused_with_what_to_do() -> None:
    def loss(weight: Any, x: Any) -> Any:
        return jnp.sum(jax.lax.fori_loop(0, 3, lambda _, y: y @ weight, x))

    with pytest.raises(InputError, match="without loops"):
        trace_training_step(loss, tensor(4, 4), (tensor(4, 4),), name="p")


@pytest.mark.parametrize(
    "loss",
    [
        lambda weight, x: jnp.sum(x @ weight) if jnp.sum(x) > 0 else jnp.sum(weight),
        lambda weight, x: jnp.sum(x[x > 0]) * jnp.sum(weight),
    ],
)
def test_what_depends_on_values_in_python_is_refused(loss: Any) -> None:
    with pytest.raises(InputError, match="depend on values"):
        trace_training_step(loss, tensor(4, 4), (tensor(4, 4),), name="p")


def test_a_loss_of_several_numbers_is_refused() -> None:
    with pytest.raises(InputError, match="return one number"):
        trace_training_step(lambda w, x: x @ w, tensor(4, 4), (tensor(4, 4),), name="p")


@pytest.mark.parametrize("model", TRANSFORMERS)
@pytest.mark.parametrize("layers", [1, 2, 3, 4, 6])
def test_bundled_programs_and_their_repetitions_are_what_jax_traces(
    model: str, layers: int
) -> None:
    name = f"{model}-{layers}l"
    traced = fold_views(TRACERS[model](TransformerSize(layers=layers), name))
    assert traced == named_program(name)


@pytest.mark.parametrize(("layers", "operations"), [(1, 212), (2, 439), (4, 893)])
def test_an_encoder_layer_has_227_operations_before_views_fold(
    layers: int, operations: int
) -> None:
    # The paper counts 308 for one layer and 278 for each further one, after lowering to HLO.
    program = TRACERS["encoder"](TransformerSize(layers=layers), "p")
    assert len(program) == operations == 227 * layers - 15


def test_where_jax_is_absent_the_message_says_how_to_install_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(util, "find_spec", lambda name: None)
    with pytest.raises(MissingExtraError, match=r"pip install 'jettison\[jax\]'"):
        trace_training_step(lambda w: w, tensor(4), (), name="p")


def test_the_graph_of_a_perceptron_has_its_products_and_their_gradients() -> None:
    def loss(weights: Any, x: Any) -> Any:
        return jnp.sum(jax.nn.relu(x @ weights["a"]) @ weights["b"])

    weights = {"a": tensor(8, 16), "b": tensor(16, 2)}
    program = fold_views(trace_training_step(loss, weights, (tensor(4, 8),), name="p"))
    graph = program_graph(program)
    products = [node for node in graph.nodes if "dot_general" in node.name]
    # Two forward: 4*16 and 4*2 numbers of 4 bytes. Three backward: the gradients of b and of what
    # it is multiplied by, and that of a.
    assert [node.output_bytes for node in products if not node.backward] == [256, 32]
    assert sorted(node.output_bytes for node in products if node.backward) == [128, 256, 512]
    # The loss, and the gradients of a and b.
    assert sorted(node.output_bytes for node in graph.nodes if node.keep) == [4, 128, 512]
