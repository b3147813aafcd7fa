"""Grids of long chains leave out what is of no use: the answers are those of grids that do not."""

from __future__ import annotations

import math
import random

import numpy as np
import pytest

from jettison.solvers import _kernels
from jettison.solvers.core.outcome import SolveOptions
from jettison.solvers.remat_chain.drop_grid import Form, curve_with_drops
from jettison.solvers.remat_chain.drop_needs import DropNeeds
from jettison.solvers.remat_chain.drop_search import fastest_with_drops
from jettison.solvers.remat_chain.least_memory import least_persistent_memory
from jettison.solvers.remat_chain.memory_grid import (
    KernelArguments,
    MemoryGrid,
    kernel_arguments,
)
from jettison.solvers.remat_chain.needs import ChainNeeds, InputsOnlyNeeds
from tests.drawing.chains import random_chain

# Shorter chains have no limit.
LENGTHS = (8, 9, 15, 23, 40)


def times_of_all(arguments: KernelArguments) -> list[int | None]:
    """Return the fastest time for each budget by the recurrence, with nothing left out."""
    forward_ns, backward_ns, inputs, saved, need_all, need_none, budgets = arguments
    count, most = len(forward_ns), max(budgets)
    prefix_ns = np.concatenate(([0.0], np.cumsum(forward_ns)))
    table: dict[tuple[int, int], np.ndarray] = {}

    def in_less(times: np.ndarray, slots: int) -> np.ndarray:
        less = np.full(most + 1, math.inf)
        if slots <= most:
            less[slots:] = times[: most + 1 - slots]
        return less

    for t in range(count):
        for s in range(t, -1, -1):
            own_ns = forward_ns[s] + backward_ns[s]
            rest = np.zeros(most + 1) if s == t else in_less(table[s + 1, t], int(saved[s]))
            best = own_ns + rest
            best[: max(int(need_all[s, t]), 0)] = math.inf
            splits = np.full(most + 1, math.inf)
            for split in range(s + 1, t + 1):
                right = in_less(table[split, t], int(inputs[split]))
                run_ns = prefix_ns[split] - prefix_ns[s]
                splits = np.minimum(splits, run_ns + right + table[s, split - 1])
            if s < t:
                splits[: max(int(need_none[s, t]), 0)] = math.inf
            table[s, t] = np.minimum(best, splits)
    times = [float(table[0, count - 1][budget]) for budget in budgets]
    return [None if math.isinf(time_ns) else int(time_ns) for time_ns in times]


def check(arguments: KernelArguments, note: object) -> int:
    """Compare times and schedules with the recurrence; return how many budgets have any."""
    expected = times_of_all(arguments)
    assert _kernels.persistent_times(*arguments) == expected, note
    solved = _kernels.persistent_program(*arguments, threads=2)
    assert [None if answer is None else answer[0] for answer in solved] == expected, note
    forward_ns, backward_ns = arguments[:2]
    for answer in solved:
        if answer is not None:
            time_ns, sequence = answer
            # The kernels number the backward 3.
            spent = (
                (backward_ns if kind == 3 else forward_ns)[stage - 1] for kind, stage in sequence
            )
            assert sum(spent) == time_ns, note
    return sum(time_ns is not None for time_ns in expected)


@pytest.mark.parametrize("count", LENGTHS)
def test_floors_and_ceilings_of_chains_are_those_of_the_whole_recurrence(count: int) -> None:
    feasible = 0
    for seed in range(6):
        generator = random.Random(100 * count + seed)
        chain = random_chain(generator, count)
        available = chain.store_all_peak_bytes - chain.input_bytes
        memories = [int(available * share) for share in (0.2, 0.5, 0.9)[seed % 3 :]]
        for needs in (ChainNeeds(chain), InputsOnlyNeeds(chain)):
            for rounds_up in (False, True):
                grid = MemoryGrid(memories[-1], generator.choice((15, 16, 60)))
                arguments = kernel_arguments(needs, grid, memories, rounds_up=rounds_up)
                feasible += check(arguments, (count, seed, rounds_up))
    assert feasible > 10


def test_thresholds_that_are_no_chains_are_solved_as_well() -> None:
    feasible = 0
    for seed in range(40):
        generator = np.random.default_rng(seed)
        count = int(generator.integers(8, 24))
        arguments: KernelArguments = (
            generator.integers(0, 20, count),
            generator.integers(0, 20, count),
            generator.integers(0, 3, count).astype(np.int32),
            generator.integers(0, 7, count).astype(np.int32),
            generator.integers(0, 25, (count, count)).astype(np.int32),
            generator.integers(0, 25, (count, count)).astype(np.int32),
            [int(generator.integers(20, 80))],
        )
        feasible += check(arguments, seed)
    assert feasible > 20


def test_grids_with_drops_that_round_nothing_find_the_optimum_of_the_exact_search() -> None:
    for seed in range(12):
        generator = random.Random(seed)
        chain = random_chain(generator, generator.randint(8, 14))
        least, known = least_persistent_memory(chain)
        memory_bytes = generator.randint(least, chain.store_all_peak_bytes)
        found = fastest_with_drops(chain, memory_bytes, SolveOptions(time_limit_s=None), known)
        assert found is not None
        exact = found[0]
        assert exact.is_complete
        slots = max(memory_bytes - chain.input_bytes, 1)
        (bracket,) = curve_with_drops(chain, [memory_bytes], slots)
        assert bracket.is_exact
        assert bracket.floor_ns == exact.time_ns, seed
        assert bracket.schedule is not None
        assert bracket.schedule.replay(chain, memory_bytes).time_ns == exact.time_ns


def test_two_tables_with_drops_lie_between_four_and_those_without() -> None:
    between = 0
    for seed in range(12):
        generator = random.Random(seed)
        chain = random_chain(generator, generator.randint(12, 30))
        available = chain.store_all_peak_bytes - chain.input_bytes
        memory = max(available // 3, 1)
        grid = MemoryGrid(memory, 50)
        plain = kernel_arguments(ChainNeeds(chain), grid, [memory], rounds_up=True)
        drops = kernel_arguments(DropNeeds(chain), grid, [memory], rounds_up=True)
        (without,) = _kernels.persistent_times(*plain)
        two, four = (_kernels.times_with_drops(form, *drops)[0] for form in Form)
        if without is not None:
            assert two is not None
            assert four is not None
            assert four <= two <= without, seed
            between += 1
    assert between > 4
