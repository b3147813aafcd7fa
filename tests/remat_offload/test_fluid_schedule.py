"""Plans as sequences of two phases."""

from __future__ import annotations

import pytest

from jettison.instances.core.errors import InputError
from jettison.schedules.remat_chain.contents import Tensor, TensorKind
from jettison.schedules.remat_offload.fluid_replay import has_two_phases
from jettison.schedules.remat_offload.plan import OffloadPlan
from jettison.solvers.remat_offload.pofo.fluid_schedule import fluid_schedule
from tests.drawing.chains import chain_of
from tests.remat_offload.sequences import sequence

INPUT, A1 = (Tensor(TensorKind.PLAIN, number) for number in (0, 1))
SAVED_2 = Tensor(TensorKind.SAVED, 2)

CHAIN = chain_of(1, (4, 2, 6, 0, 0), (3, 2, 5, 0, 0), (2, 0, 1, 0, 0))
COMPUTATIONS = sequence("F_ck 1, F_all 2, F_all 3, B 3, B 2, F_all 1, B 1").computations


def test_tensors_leave_when_they_are_made_and_return_when_they_are_needed() -> None:
    schedule = fluid_schedule(CHAIN, OffloadPlan(COMPUTATIONS, (INPUT, A1, SAVED_2)))
    # a0 is there from the start and last read by F 1, a1 made by F 1 and last read by F 2, ā2 made
    # by F 2, last read by the loss, and read next by its backward.
    assert schedule == sequence(
        "O 0, F_ck 1, O 1, D 0, F_all 2, O_all 2, D 1, F_all 3, D_all 2, "
        "P_all 2, B 3, P 1, B 2, P 0, F_all 1, B 1"
    )
    assert has_two_phases(schedule.operations)


def test_tensors_without_a_size_stay() -> None:
    chain = chain_of(0, (4, 2, 6, 0, 0), (3, 2, 5, 0, 0), (2, 0, 1, 0, 0))
    schedule = fluid_schedule(chain, OffloadPlan(COMPUTATIONS, (INPUT,)))
    assert schedule.operations == COMPUTATIONS.operations


def test_what_is_not_in_memory_at_the_first_backward_is_refused() -> None:
    with pytest.raises(InputError, match="offload what is kept for the backward operations"):
        fluid_schedule(CHAIN, OffloadPlan(COMPUTATIONS, (Tensor(TensorKind.SAVED, 1),)))
