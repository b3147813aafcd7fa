"""POFO's program from grid to grid: its bracket holds the optimum, whatever grids and limits."""

from __future__ import annotations

import random
from fractions import Fraction

import pytest

from jettison import Chain, RematOffloadChain
from jettison.remat_chain import Stage
from jettison.schedules.remat_offload.plan import OffloadPlan
from jettison.solvers.core.clock import Clock
from jettison.solvers.core.outcome import SolveOptions
from jettison.solvers.remat_offload.pofo.bracket import PofoBracket, pofo_exact
from jettison.solvers.remat_offload.pofo.brackets import PofoBrackets, sizes_of_slots
from jettison.solvers.remat_offload.pofo.params import PlanParams
from jettison.solvers.remat_offload.pofo.program import PofoProgram, Recomputation, Rounding
from tests.drawing.chains import random_chain
from tests.drawing.overheads import with_saving_overheads

NO_LIMIT = Clock(None)
GRIDS = ((1, 4, 16), (16, 64), (3, 12, 48, 192), (64, 16), (10, 33, 100))


def drawn_chain(generator: random.Random, unit: int) -> Chain:
    """Return 4 to 9 stages, many of them of no size or no time; most sizes are in units."""
    largest = generator.choice((5, 20, 100))

    def size(most: int) -> int:
        if generator.random() < 0.25:
            return 0
        odd = generator.randint(0, 3) if generator.random() < 0.1 else 0
        return generator.randint(1, most) * unit + odd

    stages = []
    for number in range(1, generator.randint(4, 9)):
        output_bytes = size(largest)
        stages.append(
            Stage(
                name=f"{number}",
                forward_ns=generator.choice((0, 1, 1, 1)) * generator.randint(1, 50),
                backward_ns=generator.choice((0, 1, 1, 1)) * generator.randint(1, 90),
                output_bytes=output_bytes,
                saved_bytes=max(output_bytes, size(3 * largest)),
                forward_overhead_bytes=generator.choice((0, 0, generator.randint(0, largest))),
                backward_overhead_bytes=generator.choice((0, 0, generator.randint(0, largest))),
            )
        )
    loss = Stage(name="loss", forward_ns=1, backward_ns=1, output_bytes=0, saved_bytes=0)
    return with_saving_overheads(Chain("drawn", size(largest), (*stages, loss)))


def test_every_step_brackets_the_optimum_and_complete_searches_meet_it() -> None:
    closed = open_ = 0
    for seed in range(400):
        generator = random.Random(seed)
        unit = generator.choice((1, 7, 64, 1000))
        chain = drawn_chain(generator, unit)
        memory_bytes = max(1, int(chain.store_all_peak_bytes * generator.uniform(0.25, 0.85)))
        rate = generator.choice((125_000_000, 10**9, 3 * 10**9)) * generator.choice((1, unit))
        best_ns = pofo_exact(chain, memory_bytes, rate).plan_ns
        # A schedule that is known from elsewhere, not faster than the optimum, or none.
        known_ns = None
        if best_ns is not None and generator.random() < 0.4:
            known_ns = best_ns + generator.randint(0, 4)
        program, bracket = PofoProgram(chain, memory_bytes, rate), PofoBracket()
        for slots in generator.choice(GRIDS):
            slot_bytes = max(memory_bytes // slots, 1)
            if generator.random() < 0.3:
                slot_bytes = max(slot_bytes // unit, 1) * unit
            limit_ns = _least(known_ns, bracket.plan_ns)
            floor_ns = program.refine(
                slot_bytes,
                limit_ns,
                backward_slot_bytes=slot_bytes * generator.choice((1, 1, 2, 5)),
                both_programs=generator.random() < 0.5,
                clock=NO_LIMIT,
            )
            bracket = bracket.raised(floor_ns, limit_ns)
            for rounding in Rounding:
                limit_ns = _least(known_ns, bracket.plan_ns)
                labels = generator.choice((1, 2, 4, 1000))
                if rounding is Rounding.NONE and generator.random() < 0.7:
                    continue
                found = program.search(rounding, labels, limit_ns, clock=NO_LIMIT)
                bracket = bracket.with_search(found, limit_ns)
                _require_bracket(bracket, best_ns, seed)
                if rounding is Rounding.NONE and found.is_complete and best_ns is not None:
                    assert bracket.floor_ns == best_ns, seed
        closed += best_ns is not None and bracket.floor_ns == best_ns
        open_ += best_ns is not None and bracket.floor_ns != best_ns
    assert closed > 200
    assert open_ > 5


def _least(*times: Fraction | int | None) -> Fraction | int | None:
    return min((time for time in times if time is not None), default=None)


def _require_bracket(bracket: PofoBracket, best_ns: Fraction | None, seed: int) -> None:
    if best_ns is None:
        assert bracket.plan_ns is None, seed
        return
    assert bracket.floor_ns is not None, seed
    assert bracket.floor_ns <= best_ns, seed
    assert bracket.plan_ns is None or bracket.plan_ns >= best_ns, seed


def test_a_grid_of_the_common_unit_rounds_nothing() -> None:
    generator = random.Random(5)
    compared = 0
    for _ in range(40):
        chain = drawn_chain(generator, 1)
        big = Chain(
            chain.name,
            1000 * chain.input_bytes,
            tuple(
                Stage(
                    name=stage.name,
                    forward_ns=1000 * stage.forward_ns,
                    backward_ns=1000 * stage.backward_ns,
                    output_bytes=1000 * stage.output_bytes,
                    saved_bytes=1000 * stage.saved_bytes,
                )
                for stage in chain
            ),
        )
        # The memory is no multiple of the unit: slots are counted from it downwards.
        memory_bytes = int(big.store_all_peak_bytes * 0.55) + 1
        best_ns = pofo_exact(big, memory_bytes, 10**9).plan_ns
        program = PofoProgram(big, memory_bytes, 10**9)
        program.refine(1000, clock=NO_LIMIT)
        found = program.search(Rounding.UP, 10_000, clock=NO_LIMIT)
        floor = program.search(Rounding.DOWN, 10_000, clock=NO_LIMIT)
        assert found.is_complete
        assert found.plan_ns == floor.floor_ns == best_ns
        compared += best_ns is not None
    assert compared > 15


@pytest.mark.parametrize(
    ("unit", "slots"),
    # 700 units fill the memory: grids of 16 units, 4 units and 1 unit to a slot, then finer ones.
    # The second stage is too small to count. Slots of 1 byte would be too many.
    [
        (10_000, [43, 175, 700, 2800, 11_200, 44_871]),
        (1, [50, 200, 800, 3200, 12_820, 51_470]),
    ],
)
def test_grids_are_of_the_common_unit_if_there_are_not_too_many(
    unit: int, slots: list[int]
) -> None:
    memory_bytes = 7_000_000
    sizes = ((60_000, 130_000), (1_001, 1_001), (90_000 + unit, 140_000), (0, 0))
    stages = tuple(
        Stage(name=f"{number}", forward_ns=1, backward_ns=1, output_bytes=output, saved_bytes=saved)
        for number, (output, saved) in enumerate(sizes)
    )
    found = sizes_of_slots(Chain("units", 50_000, stages), memory_bytes, PlanParams(first_slots=40))
    assert [memory_bytes // size for size in found] == slots
    assert unit in found or unit == 1


def test_only_what_is_faster_than_a_known_schedule_is_looked_for() -> None:
    generator = random.Random(4)
    chain = drawn_chain(generator, 64)
    memory_bytes = chain.store_all_peak_bytes * 3 // 4
    problem = RematOffloadChain(chain, memory_bytes, 10**9, "fluid")
    best_ns = pofo_exact(chain, memory_bytes, 10**9).plan_ns
    assert best_ns is not None
    for known_ns, plans in ((int(best_ns), 0), (int(best_ns) + 2, 1)):
        brackets = PofoBrackets(problem, Recomputation.ALLOWED, known_ns=lambda t=known_ns: t)
        found: list[OffloadPlan | None] = [
            bracket.plan for bracket in brackets.refine(SolveOptions(gap=0), NO_LIMIT)
        ]
        assert brackets.best.floor_ns == min(known_ns, best_ns)
        assert (found[-1] is not None) == bool(plans)
        assert brackets.why_open is None


def test_where_a_grid_does_not_fit_in_memory_the_one_before_is_searched() -> None:
    chain = random_chain(random.Random(3), 40, largest_output_bytes=10**6)
    memory_bytes = chain.store_all_peak_bytes // 3
    program = PofoProgram(chain, memory_bytes, 10**9, most_bytes=3 * 10**6)
    before_ns = program.refine(memory_bytes // 16, clock=NO_LIMIT)
    found = program.search(Rounding.DOWN, 4, clock=NO_LIMIT)
    for both_programs in (False, True):
        with pytest.raises(MemoryError):
            program.refine(memory_bytes // 2000, both_programs=both_programs, clock=NO_LIMIT)
        again = program.search(Rounding.DOWN, 4, clock=NO_LIMIT)
        assert again.floor_ns == found.floor_ns
    assert before_ns is not None
    assert found.floor_ns is not None
    assert found.floor_ns >= before_ns
    # Nor does a search to the byte, and finer grids close the bracket all the same.
    problem = RematOffloadChain(chain, memory_bytes, 10**9, "fluid")
    few = PlanParams(most_table_bytes=2 * 10**7, first_slots=12)
    brackets = PofoBrackets(problem, Recomputation.ALLOWED, few)
    assert len(list(brackets.refine(SolveOptions(gap=0), NO_LIMIT))) > 2
    assert brackets.slots > 12
    assert brackets.best.is_exact
