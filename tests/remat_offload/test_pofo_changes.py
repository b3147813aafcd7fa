"""Changes of a schedule with transfers at once: what they read, and what they find."""

from __future__ import annotations

import random

from jettison import RematOffloadChain, solve
from jettison.schedules.remat_offload.schedule import OffloadSchedule
from jettison.solvers.remat_offload.incumbent import OffloadIncumbent
from jettison.solvers.remat_offload.least_memory import least_memory_with_offloading
from jettison.solvers.remat_offload.pofo.changes import moving_of, offer_changes
from tests.drawing.chains import random_chain


def _problems(seed: int, count: int) -> list[RematOffloadChain]:
    generator = random.Random(seed)
    found = []
    for _ in range(count):
        chain = random_chain(generator, generator.randint(3, 8), largest_output_bytes=20)
        memory_bytes = generator.randint(
            least_memory_with_offloading(chain), chain.store_all_peak_bytes
        )
        rate = generator.choice(("500MB/s", "1GB/s", "2GB/s:half-duplex"))
        found.append(RematOffloadChain(chain, memory_bytes, rate))
    return found


def _begun(problem: RematOffloadChain, method: str) -> OffloadIncumbent:
    incumbent = OffloadIncumbent(problem)
    schedule = solve(problem, method).schedule
    if isinstance(schedule, OffloadSchedule):
        incumbent.offer(schedule)
    return incumbent


def test_every_prefetch_of_a_schedule_ends_a_gap_of_its_computations() -> None:
    read = 0
    for problem in _problems(1, 30):
        for method in ("autocapper", "offload-all"):
            schedule = _begun(problem, method).schedule
            if schedule is None:
                continue
            moving = moving_of(problem.instance, schedule)
            prefetched = [item for item in schedule.operations if str(item).startswith("P")]
            assert len(moving.gaps) <= len(prefetched)
            assert {gap.tensor.stage for gap in moving.gaps} <= {item.stage for item in prefetched}
            read += len(moving.gaps)
    assert read > 20


def test_changes_make_schedules_faster_and_never_slower() -> None:
    faster = 0
    for problem in _problems(2, 12):
        # It waits for every transfer, and fits wherever anything does.
        incumbent = _begun(problem, "offload-all")
        before_ns = incumbent.time_ns
        assert before_ns is not None
        for _ in offer_changes(incumbent, seed=0, idle_changes=30):
            pass
        assert incumbent.time_ns is not None
        assert incumbent.replay is not None
        assert incumbent.replay.valid
        assert problem.base_time_ns <= incumbent.time_ns <= before_ns
        faster += incumbent.time_ns < before_ns
    assert faster >= 5


def test_the_same_seed_makes_the_same_changes() -> None:
    for problem in _problems(3, 6):
        found = []
        for _ in range(2):
            incumbent = _begun(problem, "offload-all")
            for _ in offer_changes(incumbent, seed=7, idle_changes=10):
                pass
            found.append((incumbent.schedule, incumbent.time_ns, incumbent.offered))
        assert found[0] == found[1]
