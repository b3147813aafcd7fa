"""Each reading of POFO's Appendix B, on a chain where the other reading gives a wrong answer.

Every wrong reading is put into the recurrence by itself, and its answer stands beside the right one
of the brute force, of the recurrence, and of the kernel.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from jettison.solvers.remat_offload.pofo.bracket import pofo_exact
from tests.drawing.chains import unit_chain
from tests.remat_offload.oracles.brute_force import fastest
from tests.remat_offload.oracles.recurrence import OffloadRecurrence
from tests.remat_offload.oracles.samples import OffloadSample, offload_samples

SLOW = 125_000_000
ONE_BYTE_PER_NS = 10**9


def _with(reading: type[OffloadRecurrence], sample: OffloadSample) -> Fraction | None:
    return reading(sample.chain, sample.memory_bytes, sample.bytes_per_ns).fastest()


def _right(sample: OffloadSample) -> Fraction | None:
    """Return what brute force, recurrence and kernel agree on."""
    best = fastest(sample.chain, sample.memory_bytes, sample.bytes_per_ns)
    bracket = pofo_exact(sample.chain, sample.memory_bytes, sample.bytes_per_s)
    assert _with(OffloadRecurrence, sample) == best
    assert bracket.floor_ns == best
    assert bracket.plan_ns == best
    return best


class GradientBeforeTheLoss(OffloadRecurrence):
    def gradient_in_forward_phase(self) -> int:
        return self.output[self.last - 1]


class PartsEndBeforeTheLastLayer(OffloadRecurrence):
    def last_of_parts(self) -> int:
        return self.last - 2


class ReturnsWithoutTheInput(OffloadRecurrence):
    def returned_beside_part(self, i: int, j: int, a: int, size: int, db: int) -> int:
        del size
        return self.c(i, j, a, db)


class SavesBesideItsOwnGradient(OffloadRecurrence):
    def gradient_beside_save(self, i: int, j: int) -> int:
        del j
        return self.output[i]


class LeavesAfterThePart(OffloadRecurrence):
    def left_to_offload(self, df: int, size: int, time: int) -> int:
        return max(df - time, 0) + size


def test_the_recurrence_gives_the_answers_of_the_brute_force() -> None:
    for sample in offload_samples(2, 400):
        expected = fastest(sample.chain, sample.memory_bytes, sample.bytes_per_ns)
        assert _with(OffloadRecurrence, sample) == expected


def test_no_gradient_is_in_memory_before_the_loss() -> None:
    # a^1 = ā^1 = of^1 = 2. F_all 1 takes 2 + 2 = 4 bytes, and so do B 2, which reads a^1 and writes
    # its gradient, and B 1. Everything fits in 4 bytes: 4 ns. With the gradient of a^1 beside
    # F_all 1, 6 would be needed.
    sizes = {"output_bytes": 2, "saved_bytes": 2, "forward_overhead_bytes": 2}
    sample = OffloadSample(unit_chain(0, sizes, {}), 4, SLOW)
    assert _right(sample) == 4
    assert _with(GradientBeforeTheLoss, sample) is None


def test_a_part_may_end_right_before_the_loss() -> None:
    # ā^1 = 4 and ā^2 = 1 in 4 bytes: F_ck 1, F_all 2, B 2, F_all 1, B 1 take 5 ns. ā^1 cannot be
    # offloaded in time, because F 2 reads it and needs 1 byte more.
    sample = OffloadSample(unit_chain(0, {"saved_bytes": 4}, {"saved_bytes": 1}), 4, SLOW)
    assert _right(sample) == 5
    assert _with(PartsEndBeforeTheLastLayer, sample) is None


def test_values_come_back_while_a_part_runs_with_its_input_in_memory() -> None:
    # F_ck 1, F_ck 2, F_ck 3, F_all 4, B 4, F_all 3, B 3, F_all 2, B 2, F_all 1, B 1 with a^0 away:
    # its 3 bytes take 24 ns out, during the 5 ns of the forward phase and after it, and 24 ns back.
    # B 2 needs 6 + 3 + 1 bytes, and a^1 is there too: 1 byte of a^0 can be back when it ends, so
    # that the part of stage 2 lasts 16 ns longer. Without a^1, 2 bytes could be back; the part
    # would seem 8 ns shorter, and 1 byte more to be left for before it: 8 ns more.
    chain = unit_chain(
        3,
        {"forward_ns": 0, "backward_ns": 0, "output_bytes": 1, "saved_bytes": 2},
        {"backward_ns": 0, "output_bytes": 3, "saved_bytes": 6},
        {"forward_ns": 0, "backward_ns": 0, "output_bytes": 2, "saved_bytes": 2},
        {"forward_ns": 4, "backward_ns": 0},
    )
    sample = OffloadSample(chain, 12, SLOW)
    assert _right(sample) == 48
    assert _with(ReturnsWithoutTheInput, sample) == 56


def test_saving_all_needs_room_for_the_gradient_of_the_last_stage_of_its_sub_chain() -> None:
    # a^1 = ā^1 = 2, of^1 = 3, ā^3 = 5. In 5 bytes: F_ck 1 (2 + 3), F_none 2, F_all 3 (5), B 3,
    # F_all 1 (2 + 3, and no gradient: a^2 has no size), F_all 2, B 2, B 1: 8 ns. With the gradient
    # of a^1 in place of that of a^2, F_all 1 would need 7; what is left is to offload ā^1, whose 2
    # bytes take 16 ns each way. Beside them run F 2 (1 ns), and nothing on the way back before B 2:
    # 6 + 15 + 16 = 37 ns.
    chain = unit_chain(
        0,
        {"output_bytes": 2, "saved_bytes": 2, "forward_overhead_bytes": 3},
        {},
        {"saved_bytes": 5},
    )
    sample = OffloadSample(chain, 5, SLOW)
    assert _right(sample) == 8
    assert _with(SavesBesideItsOwnGradient, sample) == 37


def test_saving_all_needs_room_for_its_own_overhead() -> None:
    # As above, with 3 bytes for F_ck 1 and 1 where F 1 saves 4 - 2 bytes more: F_all 1 takes
    # 4 + 1 = 5, F_ck 1 2 + 3 = 5. The loss saves 1: all is saved in 5 bytes, in 4 ns. With 3 for
    # both, F_all 1 takes 7, and nothing fits, for it has to run.
    sizes = {"output_bytes": 2, "saved_bytes": 4, "forward_overhead_bytes": 3}
    chain = unit_chain(0, sizes | {"saving_overhead_bytes": 1}, {"saved_bytes": 1})
    chain = replace(chain, backward_overhead_holds_gradient=True)
    shared = replace(chain.stages[0], saving_overhead_bytes=None)
    # B 1 needs 4 + 2.
    assert _right(OffloadSample(chain, 6, SLOW)) == 4
    assert _right(OffloadSample(replace(chain, stages=(shared, chain.stages[1])), 6, SLOW)) is None


def test_an_offloaded_input_leaves_while_its_own_part_runs() -> None:
    # a^0 = 4 leaves in 4 ns, during F 1, and the loss can save its 4 bytes at once. It comes back
    # between B 2 and B 1: 4 + 1 + 1 + 4 + 1 = 11 ns. If it could leave after F 1 only, 4 more.
    chain = unit_chain(4, {"forward_ns": 4}, {"saved_bytes": 4})
    chain = replace(chain, backward_overhead_holds_gradient=True)
    sample = OffloadSample(chain, 4, ONE_BYTE_PER_NS)
    assert _right(sample) == 11
    assert _with(LeavesAfterThePart, sample) == 15
