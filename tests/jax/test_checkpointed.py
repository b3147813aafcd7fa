"""Losses in JAX with a plan of what is saved: the same values, the same gradients, less memory."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from jettison.instances.core.errors import InputError

np = pytest.importorskip("numpy")
jax = pytest.importorskip("jax", reason="JAX is not installed (jettison[jax])")

import jax.numpy as jnp  # noqa: E402

from jettison.jax import CheckpointedLoss, checkpointed  # noqa: E402

pytestmark = pytest.mark.jax

ROWS, WIDTH = 64, 16


def weights(layers: int, seed: int = 0) -> list[dict[str, Any]]:
    # Drawn by NumPy: JAX would compile each of its operations.
    draw = np.random.default_rng(seed)
    return [
        {
            "up": jnp.asarray(draw.standard_normal((WIDTH, 4 * WIDTH), np.float32) / 4),
            "down": jnp.asarray(draw.standard_normal((4 * WIDTH, WIDTH), np.float32) / 8),
            "shift": jnp.asarray(np.zeros(WIDTH, np.float32)),
        }
        for _ in range(layers)
    ]


def layer(weight: dict[str, Any], h: Any) -> Any:
    return h + jax.nn.gelu(h @ weight["up"]) @ weight["down"] + weight["shift"]


def stack(tree: list[dict[str, Any]], x: Any, y: Any) -> Any:
    h = x
    for weight in tree:
        h = layer(weight, h)
    return jnp.mean((h - y) ** 2)


def batch(seed: int = 1) -> tuple[Any, Any]:
    x, y = np.random.default_rng(seed).standard_normal((2, ROWS, WIDTH), np.float32)
    return jnp.asarray(x), jnp.asarray(y)


def compiled(function: Callable[..., Any], planned: CheckpointedLoss, **options: Any) -> Any:
    return jax.jit(
        jax.value_and_grad(function, **options), compiler_options=dict(planned.compiler_options)
    )


@pytest.fixture(scope="module")
def stacked() -> CheckpointedLoss:
    """Three layers in half of the memory."""
    return checkpointed(stack, weights(3), *batch(), memory="50%", compilations=2)


def is_equal(tree: Any, other: Any) -> bool:
    pairs = zip(jax.tree.leaves(tree), jax.tree.leaves(other), strict=True)
    return all(np.array_equal(np.asarray(a), np.asarray(b)) for a, b in pairs)


def is_close(tree: Any, other: Any, within: float) -> bool:
    pairs = zip(jax.tree.leaves(tree), jax.tree.leaves(other), strict=True)
    return all(
        np.allclose(np.asarray(a), np.asarray(b), rtol=within, atol=within) for a, b in pairs
    )


def test_half_of_the_memory_gives_the_same_gradients_to_the_bit_in_double_precision() -> None:
    with jax.enable_x64(True):
        tree = jax.tree.map(lambda leaf: jnp.asarray(np.asarray(leaf, np.float64)), weights(3))
        x, y = (jnp.asarray(np.asarray(item, np.float64)) for item in batch())
        planned = checkpointed(stack, tree, x, y, memory="50%")
        value = compiled(planned, planned)(tree, x, y)
        plain = compiled(stack, planned)(tree, x, y)
    assert is_equal(value, plain)
    assert planned.plan.holds
    assert planned.plan.compiled_bytes <= planned.plan.plain_compiled_bytes // 2
    assert planned.plan.bound_ns <= planned.plan.predicted_time_ns
    assert planned.plan.overhead > 0


def test_the_limit_holds_by_the_analysis_of_what_a_user_compiles(
    stacked: CheckpointedLoss,
) -> None:
    tree, (x, y), planned = weights(3), batch(), stacked
    analysis = compiled(planned, planned).lower(tree, x, y).compile().memory_analysis()
    # The user's step is what was compiled, but for the cotangent of 1.
    assert analysis.temp_size_in_bytes <= planned.plan.limit_bytes * 1.01
    predicted_bytes = planned.plan.predicted_temporary_bytes
    assert analysis.temp_size_in_bytes == pytest.approx(predicted_bytes, rel=0.05)


def test_what_is_computed_again_is_what_the_plan_does_not_save(stacked: CheckpointedLoss) -> None:
    tree, (x, y), planned = weights(3), batch(), stacked
    text = str(jax.make_jaxpr(jax.grad(planned))(tree, x, y))
    plain = str(jax.make_jaxpr(jax.grad(stack))(tree, x, y))
    again = text.count("dot_general[") - plain.count("dot_general[")
    # Each of the three layers has two products.
    saved = sum("dot_general" in name for name in planned.plan.saved)
    assert 0 < again <= 6 - saved


def test_a_step_that_fits_is_left_as_it_is() -> None:
    tree, (x, y) = weights(1), batch()
    planned = checkpointed(stack, tree, x, y, memory="100%")
    assert planned.plan.is_plain
    assert planned.plan.overhead == planned.plan.least_overhead == 0
    assert "checkpoint" not in str(jax.make_jaxpr(jax.grad(planned))(tree, x, y))


def test_the_report_has_the_plain_step_and_the_common_policies_beside_ours() -> None:
    tree, (x, y) = weights(1), batch()
    planned = checkpointed(stack, tree, x, y, memory="90%", compilations=1)
    report = planned.report()
    names = [row.policy for row in report.rows]
    assert names == [
        "plain",
        "everything_saveable",
        "nothing_saveable",
        "dots_saveable",
        "dots_with_no_batch_dims_saveable",
        "jettison",
    ]
    ours, plain = report.rows[-1], report.rows[0]
    assert ours.compiled_bytes == planned.plan.compiled_bytes
    assert plain.compiled_bytes == planned.plan.plain_compiled_bytes
    assert ours.overhead <= report.rows[2].overhead
    assert str(report).count("\n") == 7


def dropped(tree: list[dict[str, Any]], x: Any, key: Any, labels: Any, *, rate: float = 0.5) -> Any:
    h = x
    for weight, own in zip(tree, jax.random.split(key, len(tree)), strict=True):
        kept = jax.random.bernoulli(own, 1 - rate, h.shape)
        h = layer(weight, jnp.where(kept, h / (1 - rate), 0))
    scores = jax.nn.log_softmax(h)
    return -jnp.mean(scores[jnp.arange(len(labels)), labels]), {"rows": h[:2], "labels": labels}


def test_random_keys_integers_trees_and_further_results_go_through() -> None:
    tree, (x, _) = weights(2), batch()
    labels, key = jnp.arange(ROWS) % WIDTH, jax.random.key(3)
    planned = checkpointed(dropped, tree, x, key, labels, memory="80%", has_aux=True)
    step = compiled(planned, planned, has_aux=True)
    (value, more), gradients = step(tree, x, key, labels)
    (other, beside), plain = compiled(dropped, planned, has_aux=True)(tree, x, key, labels)
    assert is_close((value, gradients), (other, plain), 1e-6)
    assert is_close(more, beside, 1e-6)
    # Another key draws other masks: nothing of the sample is left in the plan.
    (value_of_another, _), _ = step(tree, x, jax.random.key(4), labels)
    assert not is_close(value_of_another, value, 1e-3)


@jax.custom_vjp
def clipped(x: Any) -> Any:
    return jnp.tanh(x)


clipped.defvjp(lambda x: (jnp.tanh(x), x), lambda x, g: (jnp.where(abs(x) < 1, g, 0.0),))


def own_rules(tree: list[dict[str, Any]], x: Any, y: Any) -> Any:
    @jax.jit
    def inner(weight: Any, h: Any) -> Any:
        return jax.vmap(lambda row: clipped(jax.nn.relu(row @ weight["up"])))(h) @ weight["down"]

    h = x
    for weight in tree:
        h = h + inner(weight, h)
    return jnp.sum((h - y) ** 2)


def test_rules_of_derivatives_inside_compiled_functions_are_kept() -> None:
    tree, (x, y) = weights(2), batch()
    planned = checkpointed(own_rules, tree, x, y, memory="90%")
    assert is_close(
        compiled(planned, planned)(tree, x, y), compiled(own_rules, planned)(tree, x, y), 1e-5
    )
    assert planned.plan.holds


def test_it_can_be_mapped_and_differentiated_without_being_compiled(
    stacked: CheckpointedLoss,
) -> None:
    tree, (x, y), planned = weights(3), batch(), stacked
    many = jnp.asarray(np.stack([x, 2 * np.asarray(x), np.asarray(x) - 1]))
    mapped = jax.vmap(jax.grad(planned), in_axes=(None, 0, None))(tree, many, y)
    tangent = jax.jvp(lambda item: planned(tree, item, y), (x,), (x,))

    @jax.jit
    def plainly(tree: Any, many: Any, x: Any, y: Any) -> Any:
        of_each = jax.vmap(jax.grad(stack), in_axes=(None, 0, None))(tree, many, y)
        return of_each, jax.jvp(lambda item: stack(tree, item, y), (x,), (x,))

    assert is_close((mapped, tangent), plainly(tree, many, x, y), 1e-5)


def looped(stacked: dict[str, Any], x: Any, y: Any) -> Any:
    h, _ = jax.lax.scan(lambda h, weight: (layer(weight, h), None), jnp.sin(x), stacked)
    return jnp.mean((h - y) ** 2)


def layers_of_a_loop() -> dict[str, Any]:
    found: dict[str, Any] = jax.tree.map(lambda *leaves: jnp.asarray(np.stack(leaves)), *weights(3))
    return found


@pytest.fixture(scope="module")
def plain_loop() -> Any:
    """Value and gradients of the loop without a plan."""
    return jax.jit(jax.value_and_grad(looped))(layers_of_a_loop(), *batch())


@pytest.mark.parametrize("loops", ["saved", "checkpointed", None])
def test_loops_are_not_run_as_a_whole_again(loops: str | None, plain_loop: Any) -> None:
    tree, (x, y) = layers_of_a_loop(), batch()
    share = "115%" if loops == "saved" else "60%"
    planned = checkpointed(looped, tree, x, y, memory=share, loops=loops)
    assert is_close(compiled(planned, planned)(tree, x, y), plain_loop, 1e-5)
    assert planned.plan.is_plain == (loops == "saved")
    assert planned.plan.loops == ("saved" if loops == "saved" else "checkpointed")
    text = str(jax.make_jaxpr(jax.grad(planned))(tree, x, y))
    assert text.count("scan[") == 2


def scaled(tree: list[dict[str, Any]], x: Any, y: Any, power: int, *, scale: Any) -> Any:
    return scale * jnp.mean(abs(stack(tree, x, y)) ** power)


def test_static_arguments_and_keywords_are_those_of_the_sample() -> None:
    tree, (x, y) = weights(2), batch()
    planned = checkpointed(
        scaled,
        tree,
        x,
        y,
        2,
        sample_keywords={"scale": 1.0},
        memory="80%",
        static_argnums=3,
    )
    plain = jax.jit(scaled, static_argnums=3)(tree, x, y, 2, scale=3.0)
    assert is_close(jax.jit(planned, static_argnums=3)(tree, x, y, 2, scale=3.0), plain, 1e-6)
    with pytest.raises(InputError, match="argument 3: 3, where the plan is for 2"):
        planned(tree, x, y, 3, scale=3.0)
    with pytest.raises(InputError, match="structure"):
        planned(tree, x, y, 2)


def test_several_results_have_gradients_of_their_own() -> None:
    tree, (x, y) = weights(2), batch()

    def both(tree: Any, x: Any) -> Any:
        h = layer(tree[1], layer(tree[0], x))
        return {"h": h, "sum": h.sum()}

    planned = checkpointed(both, tree, x, memory="100%", argnums=(0, 1))

    def pulled_back(function: Any) -> Any:
        return jax.jit(lambda tree, x, given: jax.vjp(function, tree, x)[1](given))

    given = {"h": y, "sum": jnp.asarray(np.ones((), np.float32))}
    found = pulled_back(planned)(tree, x, given)
    assert is_close(found, pulled_back(both)(tree, x, given), 1e-5)


def test_shapes_and_plans_of_others_are_refused_with_their_places(
    stacked: CheckpointedLoss,
) -> None:
    tree, (x, y), planned = weights(3), batch(), stacked
    with pytest.raises(InputError, match=r"argument 1: float32\[3, 16\], where the plan is for"):
        planned(tree, x[:3], y)
    tree[0]["up"] = tree[0]["up"].astype(jnp.bfloat16)
    with pytest.raises(InputError, match=r"argument 0\[0\]\['up'\]: bfloat16"):
        planned(tree, x, y)
    with pytest.raises(InputError, match="give 3, as the sample had"):
        planned(tree, x)
    with pytest.raises(InputError, match="for another loss"):
        checkpointed(stack, tree, x, y, policy=planned.plan)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"memory": "1%"}, "no policy was found whose compiled step takes at most"),
        ({"memory": "alpha=0.5"}, "write an amount"),
        ({"memory": None}, "neither is given"),
        ({"memory": "50%", "argnums": 7}, "7, of 3 arguments"),
        ({"memory": "50%", "static_argnums": 5}, "5, of 3 arguments"),
        ({"memory": "50%", "costs": "guessed"}, "write roofline or measured"),
        ({"memory": "50%", "loops": "unrolled"}, "write saved or checkpointed"),
        ({"memory": "50%", "has_aux": True}, "returns no pair"),
        ({"memory": "50%", "rates": "fast"}, "rates: 'fast'"),
    ],
)
def test_what_cannot_be_planned_is_refused(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        checkpointed(stack, weights(1), *batch(), compilations=1, **wrong)


def test_losses_that_print_or_branch_on_values_are_refused() -> None:
    x, _ = batch()

    def prints(x: Any) -> Any:
        jax.debug.print("{}", x.sum())
        return x.sum()

    def branches(x: Any) -> Any:
        return x.sum() if x.sum() > 0 else x.mean()

    with pytest.raises(InputError, match="effects"):
        checkpointed(prints, x, memory="50%")
    with pytest.raises(InputError, match="cannot be traced"):
        checkpointed(branches, x, memory="50%")
    with pytest.raises(InputError, match="no number that has a derivative"):
        checkpointed(lambda x: (x > 0).sum(), x, memory="50%")
    with pytest.raises(InputError, match="'name' is not an array"):
        checkpointed(lambda x, name: x.sum(), x, "name", memory="50%")


def test_measured_kernels_give_a_plan_as_well() -> None:
    tree, (x, y) = weights(2), batch()
    planned = checkpointed(stack, tree, x, y, memory="60%", costs="measured")
    assert planned.plan.holds
    assert planned.graph.base_time_ns > 0
    assert is_close(
        compiled(planned, planned)(tree, x, y), compiled(stack, planned)(tree, x, y), 1e-6
    )


def test_checkpoints_of_the_user_make_room_for_the_plan() -> None:
    tree, (x, y) = weights(3), batch()

    def blocks(tree: Any, x: Any, y: Any) -> Any:
        h = x
        for weight in tree:
            h = jax.checkpoint(layer)(weight, h)
        return jnp.mean((h - y) ** 2)

    planned = checkpointed(blocks, tree, x, y, memory="200%")
    text = str(jax.make_jaxpr(jax.grad(planned))(tree, x, y))
    plain = str(jax.make_jaxpr(jax.grad(partial(stack)))(tree, x, y))
    assert text.count("dot_general[") == plain.count("dot_general[")
