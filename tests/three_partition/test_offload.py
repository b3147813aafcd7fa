from __future__ import annotations

import pytest

from jettison import InputError, ThreePartition
from jettison.instances.three_partition.offload_chain import shortest_period_ns, weight_offload_of


def test_the_chain_is_that_of_theorem_1_with_its_indices_corrected() -> None:
    instance = ThreePartition("two", (26, 33, 41, 30, 34, 36), 100)
    problem = weight_offload_of(instance)
    chain = problem.instance
    # m = 2, V = 100: w_1 and w_3 have 100 bytes, w_2 and w_4 none, and w_5 to w_10 are the items.
    # In print the first item, x_0, is that of i = 2m, and has no layer.
    assert [stage.weight_bytes for stage in chain] == [100, 0, 100, 0, 26, 33, 41, 30, 34, 36]
    # B_2 and B_4 take a unit, F_4 two; the unit is V = 100 ns.
    assert [stage.backward_ns for stage in chain] == [0, 100, 0, 100, 0, 0, 0, 0, 0, 0]
    assert [stage.forward_ns for stage in chain] == [0, 0, 0, 200, 0, 0, 0, 0, 0, 0]
    assert problem.memory_bytes == 300
    assert problem.link.transfer_ns(26) == 26
    assert shortest_period_ns(instance) == chain.base_time_ns == 400


def test_times_that_no_chain_can_hold_are_refused() -> None:
    # 2 m V times 5 m stages: 600 * 3 * 2**40 * 1500 is beyond 2**60 = 10**6 * 1.1 * 2**40.
    target = 3 * 2**40
    instance = ThreePartition("large", (target // 3,) * 900, target)
    with pytest.raises(InputError, match="too large for 1500 stages"):
        weight_offload_of(instance)
