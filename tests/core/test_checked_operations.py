"""A schedule of anything but operations is refused when it is made, and not in its replay."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import jettison as jt
from jettison.instances.core.errors import InputError

F1 = jt.remat_chain.ChainOperation(jt.remat_chain.ChainOperationKind.FORWARD_ALL, 1)
COMPUTE = jt.remat_graph.GraphOperation(jt.remat_graph.GraphOperationKind.COMPUTE, 0)


@pytest.mark.parametrize(
    ("schedule", "first"),
    [
        (jt.remat_chain.ChainSchedule, F1),
        (jt.remat_offload.OffloadSchedule, F1),
        (jt.remat_graph.GraphSchedule, COMPUTE),
        (lambda operations: jt.remat_sharding.ShardedSchedule((0,), operations), COMPUTE),
    ],
)
def test_what_is_no_operation_is_named_by_its_place(
    schedule: Callable[[Any], object], first: object
) -> None:
    with pytest.raises(InputError, match=r"^operations\[1\]: \('F_all', 2\) is not an operation"):
        schedule((first, ("F_all", 2)))


@pytest.mark.parametrize("given", ["F_all 1", 3])
def test_what_is_no_sequence_is_refused(given: Any) -> None:
    with pytest.raises(
        InputError, match=r"^operations: .* is not a sequence; give a tuple of Chain"
    ):
        jt.remat_chain.ChainSchedule(given)


def test_what_is_no_event_of_a_period_is_named_by_its_place() -> None:
    with pytest.raises(InputError, match=r"^events\[0\]: \('F', 1, 0\) is not an operation"):
        jt.weight_offload.CyclicSchedule(3, (("F", 1, 0),))  # type: ignore[arg-type]


def test_a_list_of_operations_becomes_a_tuple() -> None:
    assert jt.remat_chain.ChainSchedule([F1]) == jt.remat_chain.ChainSchedule((F1,))  # type: ignore[arg-type]
