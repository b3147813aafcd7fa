"""Files of policies, and what they make of a loss."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from jettison.instances.core.errors import InputError

np = pytest.importorskip("numpy")
jax = pytest.importorskip("jax", reason="JAX is not installed (jettison[jax])")

import jax.numpy as jnp  # noqa: E402

from jettison.jax import CheckpointedLoss, PolicyPlan, checkpointed  # noqa: E402

pytestmark = pytest.mark.jax


def loss(weights: Any, x: Any) -> Any:
    h = x
    for weight in weights:
        h = h + jnp.tanh(h @ weight) @ weight.T
    return jnp.sum(h**2)


def arguments() -> tuple[Any, Any]:
    # Drawn by NumPy: JAX would compile each of its operations.
    draw = np.random.default_rng(0)
    weights = [jnp.asarray(draw.standard_normal((8, 32), np.float32)) for _ in range(3)]
    return weights, jnp.asarray(draw.standard_normal((32, 8), np.float32))


@pytest.fixture(scope="module")
def planned() -> CheckpointedLoss:
    return checkpointed(loss, *arguments(), memory="75%")


def test_a_plan_that_was_written_makes_the_same_loss(
    planned: CheckpointedLoss, tmp_path: Path
) -> None:
    path = tmp_path / "policy.json"
    planned.plan.write(path)
    assert PolicyPlan.read(path) == planned.plan
    again = checkpointed(loss, *arguments(), policy=path)
    assert again.plan == planned.plan
    text = str(jax.make_jaxpr(jax.grad(again))(*arguments()))
    assert text == str(jax.make_jaxpr(jax.grad(planned))(*arguments()))
    header = json.loads(path.read_text(encoding="utf-8"))
    assert (header["kind"], header["version"]) == ("jax-policy", 1)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"saved": "all"}, "saved: 'all'; write a list of names"),
        ({"loops": "twice"}, "loops: 'twice'"),
        ({"bound_ns": -1}, "bound_ns: -1"),
        ({"is_plain": 0}, "is_plain: 0"),
        ({"platform": 3}, "platform: 3"),
        ({"colour": "red"}, "colour: unknown field"),
        ({"kind": "graph"}, "jax-policy"),
        ({"limit_bytes": None}, "limit_bytes"),
    ],
)
def test_a_damaged_file_is_refused_with_its_field(
    planned: CheckpointedLoss, tmp_path: Path, change: dict[str, Any], message: str
) -> None:
    path = tmp_path / "policy.json"
    planned.plan.write(path)
    document = {**json.loads(path.read_text(encoding="utf-8")), **change}
    path.write_text(json.dumps(document), encoding="utf-8")
    with pytest.raises(InputError, match=message):
        PolicyPlan.read(path)


def test_a_plan_without_a_field_is_refused(planned: CheckpointedLoss, tmp_path: Path) -> None:
    path = tmp_path / "policy.json"
    planned.plan.write(path)
    document = json.loads(path.read_text(encoding="utf-8"))
    del document["graph_sha256"]
    path.write_text(json.dumps(document), encoding="utf-8")
    with pytest.raises(InputError, match="graph_sha256: missing"):
        PolicyPlan.read(path)


def test_offloaded_names_move_to_the_host_and_back(planned: CheckpointedLoss) -> None:
    *saved, moved = planned.plan.saved
    plan = replace(planned.plan, saved=tuple(saved), offloaded=(moved,))
    offloading = checkpointed(loss, *arguments(), policy=plan)
    text = str(jax.make_jaxpr(jax.grad(offloading))(*arguments()))
    assert text.count("MemorySpace.Host") == text.count("MemorySpace.Device") == 1
    gradients = jax.jit(jax.grad(offloading))(*arguments())
    plain = jax.jit(jax.grad(loss))(*arguments())
    for one, other in zip(gradients, plain, strict=True):
        # Sums of numbers of either sign, in single precision.
        assert float(abs(one - other).max()) <= 1e-5 * float(abs(other).max())


def test_a_plan_with_names_of_another_program_is_refused(planned: CheckpointedLoss) -> None:
    plan = replace(planned.plan, saved=("jettison/elsewhere.0",))
    with pytest.raises(InputError, match=r"no value has the name 'jettison/elsewhere\.0'"):
        checkpointed(loss, *arguments(), policy=plan)
