"""Plans in JAX with a link to the host: what moves there, and that gradients stay the same."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from jettison.instances.core.errors import InputError
from jettison.instances.core.link import parse_link
from jettison.schedules.remat_graph.offloaded_set import OffloadedSet, replay_offloaded_set
from jettison.solvers.remat_graph.saved_sets.link_plan import plan_transfers
from jettison.solvers.remat_graph.saved_sets.search import SavedSetSearch

np = pytest.importorskip("numpy")
jax = pytest.importorskip("jax", reason="JAX is not installed (jettison[jax])")

import jax.numpy as jnp  # noqa: E402

from jettison.jax import CheckpointedLoss, PolicyPlan, checkpointed  # noqa: E402

pytestmark = pytest.mark.jax

RATE = "100GB/s"


def loss(weights: Any, x: Any) -> Any:
    h = x
    for weight in weights:
        h = h + jnp.tanh(h @ weight) @ weight.T
    return jnp.sum(h**2)


def arguments() -> tuple[Any, Any]:
    # Drawn by NumPy: JAX would compile each of its operations.
    draw = np.random.default_rng(0)
    weights = [jnp.asarray(draw.standard_normal((32, 64), np.float32) / 8) for _ in range(4)]
    return weights, jnp.asarray(draw.standard_normal((128, 32), np.float32))


@pytest.fixture(scope="module")
def planned() -> CheckpointedLoss:
    return checkpointed(loss, *arguments(), memory="55%", offload_bandwidth=RATE)


def positions(planned: CheckpointedLoss, names: tuple[str, ...]) -> frozenset[int]:
    return frozenset(planned.graph.position_of[name] for name in names)


def test_values_move_where_the_link_is_fast_enough_and_the_replay_says_what_that_takes(
    planned: CheckpointedLoss,
) -> None:
    plan = planned.plan
    assert plan.offloaded
    assert plan.predicted_peak_bytes <= plan.limit_bytes
    assert "100 GB/s" in plan.valid_for
    found = plan_transfers(
        planned.graph,
        positions(planned, plan.saved),
        positions(planned, plan.offloaded),
        parse_link(RATE),
    )
    assert isinstance(found, OffloadedSet)
    replay = replay_offloaded_set(planned.graph, found, parse_link(RATE), plan.limit_bytes)
    assert replay.is_valid
    assert (replay.time_ns, replay.peak_bytes) == (
        plan.predicted_time_ns,
        plan.predicted_peak_bytes,
    )
    assert plan.bound_ns <= plan.predicted_time_ns
    graph = planned.graph
    forward = [place for place, node in enumerate(graph.nodes) if not node.backward]
    still = SavedSetSearch(graph, plan.limit_bytes, forward)
    still.run()
    # No saved set that stays on the device is as fast.
    assert plan.predicted_time_ns < still.bound_ns


def test_what_the_plan_offloads_is_what_the_traced_step_moves(planned: CheckpointedLoss) -> None:
    text = str(jax.make_jaxpr(jax.grad(planned))(*arguments()))
    assert text.count("MemorySpace.Host") == len(planned.plan.offloaded)
    assert text.count("MemorySpace.Device") == len(planned.plan.offloaded)


def test_gradients_are_those_of_the_loss(planned: CheckpointedLoss) -> None:
    kinds = {memory.kind for memory in jax.devices()[0].addressable_memories()}
    if "pinned_host" not in kinds:
        pytest.skip(f"the device has no pinned_host memory: {', '.join(sorted(kinds))}")
    found = jax.jit(jax.grad(planned))(*arguments())
    plain = jax.jit(jax.grad(loss))(*arguments())
    for one, other in zip(found, plain, strict=True):
        # Sums of numbers of either sign, in single precision.
        assert float(abs(one - other).max()) <= 1e-5 * float(abs(other).max())


def test_the_compiled_step_has_less_on_the_device(planned: CheckpointedLoss) -> None:
    if jax.default_backend() == "cpu":
        assert planned.plan.holds is None
        pytest.skip("XLA for CPUs counts what is on the host like all else")
    assert planned.plan.holds


def test_a_plan_with_a_link_is_read_as_it_was_written(
    planned: CheckpointedLoss, tmp_path: Path
) -> None:
    planned.plan.write(tmp_path / "plan.json")
    assert PolicyPlan.read(tmp_path / "plan.json") == planned.plan


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"memory": "55%", "offload_bandwidth": "16GB"}, "write a rate with its unit"),
        ({"policy": "plan.json", "offload_bandwidth": RATE}, "a plan is given, which says"),
        ({"memory": "1%", "offload_bandwidth": RATE}, "no policy was found"),
    ],
)
def test_what_cannot_be_planned_is_refused(wrong: dict[str, Any], message: str) -> None:
    weights, x = arguments()
    with pytest.raises(InputError, match=message):
        checkpointed(loss, weights[:1], x, compilations=1, **wrong)
