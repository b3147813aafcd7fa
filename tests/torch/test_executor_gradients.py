from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from jettison import Link, RematChain, RematOffloadChain, solve
from jettison.remat_chain import ChainSchedule
from jettison.remat_offload import OffloadSchedule
from tests.executor_steps import MODELS, Step, build, squares, twin, unit_chain
from tests.remat_chain.random_sequences import random_sequence, random_sequence_with_drops
from tests.remat_chain.sequences import sequence

torch = pytest.importorskip("torch", reason="PyTorch is not installed (jettison[torch])")
executor: Any = pytest.importorskip("jettison.torch", exc_type=ImportError)

pytestmark = pytest.mark.torch

EACH_MODEL = pytest.mark.parametrize("name", MODELS)


def compare(name: str, problem: Any, schedule: Any, *, inside: bool = False) -> None:
    """Run a step by the schedule and a plain one; nothing may differ in a single bit."""
    model, x = build(name)
    plain = twin(model)
    loss = squares if inside else None
    scheduled = executor.CheckpointedSequential(model, problem, schedule, loss=loss)
    done = Step(scheduled, model, x, loss=None if inside else squares)
    done.assert_equal(Step(plain, plain, x))


@EACH_MODEL
@pytest.mark.parametrize("inside", [False, True], ids=["loss outside", "loss as a stage"])
def test_rotor_schedules_of_every_memory_give_the_plain_step(name: str, inside: bool) -> None:
    chain = unit_chain(build(name)[0])
    sequences = set()
    for memory in range(chain.recompute_all_peak_bytes, chain.store_all_peak_bytes + 1):
        problem = RematChain(chain, memory)
        schedule = solve(problem).schedule
        if schedule is not None:
            sequences.add(schedule)
            compare(name, problem, schedule, inside=inside)
    # With little memory and with much of it, the sequences differ.
    assert len(sequences) > 1


@EACH_MODEL
def test_pofo_schedules_of_every_memory_give_the_plain_step(name: str) -> None:
    chain = unit_chain(build(name)[0])
    moved = 0
    for memory in range(4, chain.store_all_peak_bytes):
        problem = RematOffloadChain(chain, memory, Link(10**9))
        schedule = solve(problem, time_limit=5).schedule
        if schedule is not None:
            assert isinstance(schedule, OffloadSchedule)
            moved += len(schedule.operations) - len(schedule.computations.operations)
            compare(name, problem, schedule)
    assert moved


@EACH_MODEL
@settings(max_examples=25)
@given(seed=st.integers(0, 2**32), inside=st.booleans())
def test_any_sequence_that_the_replay_accepts_gives_the_plain_step(
    name: str, seed: int, inside: bool
) -> None:
    chain = unit_chain(build(name)[0])
    operations = random_sequence(len(chain), random.Random(seed), transfers=False)
    compare(name, RematChain(chain, 10**6), ChainSchedule(tuple(operations)), inside=inside)


# a^2 comes back through F_all 2, whose own input a^1 has been dropped and comes back through
# F_all 1; ā^4 is dropped whole, and made again.
NESTED = (
    "F_ck 1, F_none 2, F_all 3, D 2, F_all 4, D 3, F_ck 1, F_ck 2, F_all 3, D 2, F_all 4, D 1, "
    "F_all 5, F_all 6, B 6, B 5, B 4, F_ck 1, F_all 2, D 1, B 3, F_all 1, B 2, B 1"
)


@EACH_MODEL
@pytest.mark.parametrize("inside", [False, True], ids=["loss outside", "loss as a stage"])
def test_nested_drops_of_inputs_give_the_plain_step(name: str, inside: bool) -> None:
    schedule = sequence(NESTED)
    compare(name, RematChain(unit_chain(build(name)[0]), 10**6), schedule, inside=inside)


@EACH_MODEL
@settings(max_examples=15)
@given(seed=st.integers(0, 2**32), inside=st.booleans(), orderly=st.booleans())
def test_any_sequence_with_drops_gives_the_plain_step(
    name: str, seed: int, inside: bool, orderly: bool
) -> None:
    chain = unit_chain(build(name)[0])
    operations = random_sequence_with_drops(len(chain), random.Random(seed), orderly=orderly)
    compare(name, RematChain(chain, 10**6), ChainSchedule(tuple(operations)), inside=inside)


@EACH_MODEL
@settings(max_examples=25)
@given(seed=st.integers(0, 2**32), inside=st.booleans(), tight=st.booleans())
# A stage is offloaded, runs again on copies of its buffers, is dropped, and comes back.
@example(seed=73368, inside=False, tight=False)
def test_any_sequence_with_transfers_gives_the_plain_step(
    name: str, seed: int, inside: bool, tight: bool
) -> None:
    chain = unit_chain(build(name)[0])
    operations = random_sequence(len(chain), random.Random(seed), transfers=True)
    schedule = OffloadSchedule(tuple(operations))
    link = Link(10**8)
    # In just as much memory as the sequence needs, computations wait for offloads.
    peak_bytes = schedule.replay(chain, link).peak_bytes
    memory = peak_bytes if tight else 10**6
    compare(name, RematOffloadChain(chain, memory, link), schedule, inside=inside)


def test_a_random_sequence_often_computes_again_and_moves_tensors() -> None:
    # The generator of the two tests above must not draw trivial sequences only.
    drawn = [random_sequence(6, random.Random(seed), transfers=True) for seed in range(50)]
    computations = [OffloadSchedule(tuple(item)).computations.operations for item in drawn]
    # A sequence without recomputation and transfers has 6 forward and 6 backward operations.
    assert sum(len(item) > 12 for item in computations) > 25
    assert sum(any(str(op).startswith("P") for op in item) for item in drawn) > 25


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
@EACH_MODEL
def test_sequences_with_transfers_give_the_plain_step_on_a_gpu(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Some kernels of convolutions add in any order.
    monkeypatch.setattr(torch.backends.cudnn, "deterministic", True)
    for seed in range(10):
        model, x = build(name)
        model, x = model.cuda(), x.cuda()
        plain = twin(model)
        chain = unit_chain(model)
        operations = random_sequence(len(chain), random.Random(seed), transfers=True)
        problem = RematOffloadChain(chain, 10**6, Link(10**8))
        scheduled = executor.CheckpointedSequential(
            model, problem, OffloadSchedule(tuple(operations))
        )
        Step(scheduled, model, x).assert_equal(Step(plain, plain, x))
