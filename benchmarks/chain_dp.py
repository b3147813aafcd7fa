"""Time of the dynamic programs of chains beside plain implementations of the same recurrences.

Run: ``python benchmarks/chain_dp.py``, or with the lengths wanted, say 1000.

Chains. For each length, a seeded chain of L layers and a loss: every activation has one unit of
1 MiB, every layer saves 2 to 8 units, times are 1 to 100 us. The memory lies at alpha = 0.2 between
recomputing everything and saving everything, and beside the input it is counted in 500 slots, with
sizes rounded up.

Baselines. A plain C program, as one would write it first: a full table of doubles, the end of the
sub-chain ascending, its start descending, and for each split one loop over the slots that the
compiler vectorizes. The system's C compiler (``$CC``, else ``cc``) builds it with -O3 and, where it
can, for several vector units, as the kernel is built; without one the column stays empty, as it
does above L = 500, where that table passes 1 GB. For short chains, the same in numpy, one vector
operation per split. Before a line is printed the answers of all of them are compared with that of
the kernel.

Figures. CPU seconds of this process on one thread; the median of three runs, which alternate
between the programs, so that a machine that slows down slows all of them down. The arrays of the
programs are made beforehand; the kernel's sequence of operations is part of its time. Compare
ratios of one run, not seconds of two. The memory of the table is how much the largest resident size
of a fresh process grows while the kernel runs.

Vector units. The kernel on each unit that the machine has; all find the same schedule.

The whole call. ``jettison.solve(problem, "rotor")``, held to the grid of 500 slots, beside its two
programs, the floor and the ceiling with its schedule, whose arrays are made beforehand. The rest is
the least memory, the cut bound, the arrays and the replays.

Drops. The program with drops on the same grid, in its form of two tables and in that of four, as
multiples of the time of rotor's kernel, and how much of rotor's overhead is gone.

The curve. Ten memories from alpha = 0.2 down to alpha = 0.02, each with a floor, a ceiling and
its schedule, against the same for the largest memory alone; here everything counts, the arrays and
the two programs included.
"""

from __future__ import annotations

import argparse
import ctypes
import math
import os
import random
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from jettison.instances.remat_chain.chain import Chain, Stage
from jettison.instances.remat_chain.problem import RematChain
from jettison.solvers import _kernels
from jettison.solvers.core.result import Result
from jettison.solvers.core.solve import solve
from jettison.solvers.remat_chain.drop_grid import Form
from jettison.solvers.remat_chain.drop_needs import DropNeeds
from jettison.solvers.remat_chain.least_memory import least_memory
from jettison.solvers.remat_chain.memory_grid import MemoryGrid, kernel_arguments
from jettison.solvers.remat_chain.needs import ChainNeeds
from jettison.solvers.remat_chain.rotor import ENTRY_BYTES, RotorParams, persistent_curve

SLOTS = 500
SEED = 1
RUNS = 3
LENGTHS = (50, 100, 200, 339)
LONGEST_FOR_NUMPY = 100
# Its table takes 1 GB there.
LONGEST_FOR_PLAIN_C = 500
UNIT_BYTES = 2**20
ALPHAS = tuple(f"alpha={hundredths / 100}" for hundredths in range(20, 0, -2))

PLAIN_C = r"""
#include <math.h>
#include <stddef.h>
#include <stdlib.h>

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
__attribute__((target_clones("avx512f", "avx2", "default")))
#endif
double persistent_time(int n, int slots, const double *forward, const double *backward,
                       const int *input, const int *saved, const int *all, const int *none) {
    size_t width = (size_t)slots + 1;
    double *table = malloc((size_t)n * n * width * sizeof *table);
    double *prefix = malloc(((size_t)n + 1) * sizeof *prefix);
    if (!table || !prefix) return NAN;
    prefix[0] = 0;
    for (int s = 0; s < n; s++) prefix[s + 1] = prefix[s] + forward[s];
    for (int t = 0; t < n; t++) {
        for (int s = t; s >= 0; s--) {
            double *restrict out = table + ((size_t)s * n + t) * width;
            double own = forward[s] + backward[s];
            int need_all = all[(size_t)s * n + t], need_none = none[(size_t)s * n + t];
            for (int m = 0; m <= slots; m++) out[m] = INFINITY;
            if (s == t) {
                for (int m = need_all; m <= slots; m++) out[m] = own;
                continue;
            }
            for (int split = s + 1; split <= t; split++) {
                const double *right = table + ((size_t)split * n + t) * width - input[split];
                const double *left = table + ((size_t)s * n + split - 1) * width;
                double run = prefix[split] - prefix[s];
                int first = need_none > input[split] ? need_none : input[split];
                for (int m = first; m <= slots; m++) {
                    double time = run + right[m] + left[m];
                    out[m] = time < out[m] ? time : out[m];
                }
            }
            const double *rest = table + ((size_t)(s + 1) * n + t) * width - saved[s];
            for (int m = need_all > saved[s] ? need_all : saved[s]; m <= slots; m++) {
                double time = own + rest[m];
                out[m] = time < out[m] ? time : out[m];
            }
        }
    }
    double answer = table[(size_t)n * width - 1];
    free(prefix);
    free(table);
    return answer;
}
"""


@dataclass(frozen=True)
class Program:
    """Dynamic program in memory slots: the arrays of the kernel, in its order."""

    forward_ns: NDArray[np.int64]
    backward_ns: NDArray[np.int64]
    input_slots: NDArray[np.int32]
    saved_slots: NDArray[np.int32]
    need_all: NDArray[np.int32]
    need_none: NDArray[np.int32]

    @staticmethod
    def of(chain: Chain, memory_bytes: int) -> Program:
        """Count a chain in slots, with sizes rounded up."""
        needs = ChainNeeds(chain)
        available = memory_bytes - chain.input_bytes

        def rounded_up(sizes: NDArray[np.int64]) -> NDArray[np.int32]:
            return np.minimum(-(-sizes * SLOTS // available), SLOTS + 1).astype(np.int32)

        return Program(
            np.array([stage.forward_ns for stage in chain], np.int64),
            np.array([stage.backward_ns for stage in chain], np.int64),
            rounded_up(needs.input_bytes),
            rounded_up(needs.saved_bytes),
            rounded_up(needs.forward_all),
            rounded_up(needs.forward_none),
        )

    def answers(self) -> list[tuple[int, list[tuple[int, int]]] | None]:
        """Return the time of the fastest schedule in ns and its operations, if there is one."""
        return _kernels.persistent_program(
            self.forward_ns,
            self.backward_ns,
            self.input_slots,
            self.saved_slots,
            self.need_all,
            self.need_none,
            [SLOTS],
        )

    def kernel(self) -> float:
        """Return the time of the fastest schedule in ns, infinite if there is none."""
        (answer,) = self.answers()
        return math.inf if answer is None else float(answer[0])

    def plain_c(self, library: ctypes.CDLL) -> float:
        """Return the same time by the plain C program."""
        answer: float = library.persistent_time(
            len(self.forward_ns),
            SLOTS,
            self.forward_ns.astype(np.float64),
            self.backward_ns.astype(np.float64),
            self.input_slots,
            self.saved_slots,
            self.need_all,
            self.need_none,
        )
        return answer

    def numpy(self) -> float:
        """Return the same time by one vector operation over all numbers of slots per split."""
        count = len(self.forward_ns)
        own_ns = (self.forward_ns + self.backward_ns).astype(np.float64)
        prefix_ns = np.concatenate(([0.0], np.cumsum(self.forward_ns)))
        table = np.full((count, count, SLOTS + 1), np.inf)
        for t in range(count):
            table[t, t, self.need_all[t, t] :] = own_ns[t]
            for s in range(t - 1, -1, -1):
                best = np.full(SLOTS + 1, np.inf)
                for split in range(s + 1, t + 1):
                    size = self.input_slots[split]
                    parts = table[split, t, : SLOTS + 1 - size] + table[s, split - 1, size:]
                    parts += prefix_ns[split] - prefix_ns[s]
                    np.minimum(best[size:], parts, out=best[size:])
                best[: self.need_none[s, t]] = np.inf
                saved = self.saved_slots[s]
                first = max(self.need_all[s, t], saved)
                saving = own_ns[s] + table[s + 1, t, first - saved : SLOTS + 1 - saved]
                np.minimum(best[first:], saving, out=best[first:])
                table[s, t] = best
        return float(table[0, count - 1, SLOTS])


def synthetic_chain(layers: int) -> Chain:
    generator = random.Random(SEED)
    stages = [
        Stage(
            name=f"layer {number}",
            forward_ns=generator.randint(1_000, 100_000),
            backward_ns=generator.randint(1_000, 100_000),
            output_bytes=UNIT_BYTES,
            saved_bytes=generator.randint(2 * UNIT_BYTES, 8 * UNIT_BYTES),
        )
        for number in range(1, layers + 1)
    ]
    loss = Stage(name="loss", forward_ns=1_000, backward_ns=1_000, output_bytes=0, saved_bytes=0)
    return Chain("synthetic", UNIT_BYTES, (*stages, loss))


def build_plain_c(folder: Path) -> ctypes.CDLL | None:
    """Compile the plain program, or say why there is none."""
    compiler = shutil.which(os.environ.get("CC", "cc"))
    if compiler is None:
        print("no C compiler: the plain C program is left out", file=sys.stderr)
        return None
    source, library = folder / "plain.c", folder / "plain.so"
    source.write_text(PLAIN_C, encoding="utf-8")
    subprocess.run(
        [compiler, "-O3", "-shared", "-fPIC", "-o", str(library), str(source)], check=True
    )
    loaded = ctypes.CDLL(str(library))
    doubles = np.ctypeslib.ndpointer(np.float64, flags="C_CONTIGUOUS")
    ints = np.ctypeslib.ndpointer(np.int32, flags="C_CONTIGUOUS")
    loaded.persistent_time.restype = ctypes.c_double
    loaded.persistent_time.argtypes = [ctypes.c_int, ctypes.c_int, *[doubles] * 2, *[ints] * 4]
    return loaded


def median_cpu_seconds(*runs: Callable[[], object]) -> list[float]:
    """Time several programs by turns."""
    seconds: list[list[float]] = [[] for _ in runs]
    for _ in range(RUNS):
        for run, measured in zip(runs, seconds, strict=True):
            started = time.process_time()
            run()
            measured.append(time.process_time() - started)
    return [statistics.median(measured) for measured in seconds]


def resident_bytes(layers: int) -> int:
    """Return the growth of the largest resident size while a program runs in a fresh process."""
    output = subprocess.run(
        [sys.executable, __file__, "--resident", str(layers)],
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    return int(output)


def print_resident_bytes(layers: int) -> None:
    """Print that growth, as seen from inside."""
    program = synthetic_program(layers)
    before = largest_resident_bytes()
    program.kernel()
    print(largest_resident_bytes() - before)


def largest_resident_bytes() -> int:
    status = Path("/proc/self/status")
    if status.exists():
        # Unlike that of getrusage, this peak is not inherited from the process that started us.
        line = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM"))
        return int(line.split()[1]) * 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def synthetic_program(layers: int) -> Program:
    chain = synthetic_chain(layers)
    return Program.of(chain, RematChain(chain, ALPHAS[0]).memory_bytes)


def print_one_program(lengths: Sequence[int], plain_c: ctypes.CDLL | None) -> None:
    """Print one program of rotor: the kernel beside its baselines."""
    print(f"rotor, one program, {SLOTS} slots")
    print(
        f"{'L':>5} {'kernel s':>10} {'plain C s':>10} {'ratio':>7} {'numpy s':>10} {'ratio':>7}"
        f" {'table MB':>9}"
    )
    for layers in lengths:
        program = synthetic_program(layers)
        baselines: dict[str, Callable[[], float]] = {}
        if plain_c is not None and layers <= LONGEST_FOR_PLAIN_C:
            library = plain_c
            baselines["plain C"] = lambda: program.plain_c(library)  # noqa: B023
        if layers <= LONGEST_FOR_NUMPY:
            baselines["numpy"] = program.numpy
        found = program.kernel()
        for name, baseline in baselines.items():
            expected = baseline()
            if expected != found:
                raise SystemExit(f"L = {layers}: the kernel says {found}, {name} {expected}")
        kernel_s, *others = median_cpu_seconds(program.kernel, *baselines.values())
        seconds = dict(zip(baselines, others, strict=True))
        columns = "".join(
            f" {seconds[name]:>10.4f} {seconds[name] / kernel_s:>7.1f}"
            if name in seconds
            else f" {'-':>10} {'-':>7}"
            for name in ("plain C", "numpy")
        )
        print(f"{layers:>5} {kernel_s:>10.4f}{columns} {resident_bytes(layers) / 1e6:>9.1f}")


def print_units(lengths: Sequence[int]) -> None:
    """Print the time of the kernel on each vector unit of the machine."""
    units = _kernels.vector_units()
    print(f"rotor, one program, {SLOTS} slots, on each vector unit")
    print(f"{'L':>5}" + "".join(f" {unit + ' s':>11}" for unit in units))
    for layers in lengths:
        program = synthetic_program(layers)

        def on_unit(unit: str, program: Program = program) -> object:
            _kernels.choose_vector_unit(unit)
            return program.answers()

        found = [on_unit(unit) for unit in units]
        if any(answers != found[0] for answers in found):
            raise SystemExit(f"L = {layers}: the vector units differ")
        seconds = median_cpu_seconds(*(lambda unit=unit: on_unit(unit) for unit in units))
        print(f"{layers:>5}" + "".join(f" {unit_s:>11.4f}" for unit_s in seconds))


def print_whole_call(lengths: Sequence[int]) -> None:
    """Print the time of a solve by rotor beside that of its two programs."""
    print(f"rotor, a whole solve on a grid of {SLOTS} slots, beside its two programs")
    print(f"{'L':>5} {'programs s':>11} {'solve s':>10} {'ratio':>7}")
    for layers in lengths:
        chain = synthetic_chain(layers)
        problem = RematChain(chain, ALPHAS[0])
        available = problem.memory_bytes - chain.input_bytes
        down, up = (
            kernel_arguments(
                ChainNeeds(chain), MemoryGrid(available, SLOTS), [available], rounds_up=rounds_up
            )
            for rounds_up in (False, True)
        )
        rows = len(chain) * (len(chain) + 1) // 2
        # A grid of twice as many slots is refused.
        most_bytes = ENTRY_BYTES * rows * (SLOTS + 1)
        params = RotorParams(first_slots=SLOTS, largest_table_bytes=most_bytes)

        def solved(problem: RematChain = problem, params: RotorParams = params) -> Result:
            least_memory.cache_clear()
            return solve(problem, "rotor", params=params, time_limit=None)

        result = solved()
        if result.work["slots"] != SLOTS:
            raise SystemExit(f"L = {layers}: the grid has {result.work['slots']} slots")
        programs_s, solve_s = median_cpu_seconds(
            lambda: (_kernels.persistent_times(*down), _kernels.persistent_program(*up)),  # noqa: B023
            solved,
        )
        print(f"{layers:>5} {programs_s:>11.4f} {solve_s:>10.4f} {solve_s / programs_s:>7.2f}")


def print_drops(lengths: Sequence[int]) -> None:
    """Print the programs with drops, of two tables and of four, beside that of rotor."""
    print(f"rotor-drops, one program, {SLOTS} slots: times beside that of rotor's kernel")
    print(f"{'L':>5} {'rotor s':>10} {'two tables':>11} {'four tables':>12} {'gone %':>12}")
    for layers in lengths:
        chain = synthetic_chain(layers)
        available = RematChain(chain, ALPHAS[0]).memory_bytes - chain.input_bytes
        arguments = kernel_arguments(
            DropNeeds(chain), MemoryGrid(available, SLOTS), [available], rounds_up=True
        )
        program = synthetic_program(layers)
        two, four = (_kernels.times_with_drops(form, *arguments)[0] for form in Form)
        rotor = program.kernel()
        if two is None or four is None or not four <= two <= rotor:
            raise SystemExit(f"L = {layers}: {four}, {two} and {rotor} stand in another order")
        rotor_s, two_s, four_s = median_cpu_seconds(
            program.kernel,
            lambda: _kernels.program_with_drops(Form.TWO, *arguments),  # noqa: B023
            lambda: _kernels.program_with_drops(Form.FOUR, *arguments),  # noqa: B023
        )
        gone = 100 * (rotor - four) / (rotor - chain.base_time_ns)
        print(
            f"{layers:>5} {rotor_s:>10.4f} {two_s / rotor_s:>10.1f}x {four_s / rotor_s:>11.1f}x"
            f" {gone:>12.1f}"
        )


def print_curve(lengths: Sequence[int]) -> None:
    """Print what a curve over memory costs beside its most expensive point."""
    print(f"rotor, floor and ceiling in {len(ALPHAS)} memories, {SLOTS} slots for the largest")
    print(f"{'L':>5} {'largest s':>10} {'all s':>10} {'ratio':>7}")
    for layers in lengths:
        chain = synthetic_chain(layers)
        memories = [RematChain(chain, alpha).memory_bytes for alpha in ALPHAS]
        curve = persistent_curve(chain, memories, SLOTS)
        if curve[0] != persistent_curve(chain, memories[:1], SLOTS)[0]:
            raise SystemExit(
                f"L = {layers}: the curve differs from the solve of its largest memory"
            )
        one_s, all_s = median_cpu_seconds(
            lambda: persistent_curve(chain, memories[:1], SLOTS),  # noqa: B023
            lambda: persistent_curve(chain, memories, SLOTS),  # noqa: B023
        )
        print(f"{layers:>5} {one_s:>10.4f} {all_s:>10.4f} {all_s / one_s:>7.2f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("layers", nargs="*", type=int, default=LENGTHS)
    parser.add_argument("--resident", type=int, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.resident is not None:
        print_resident_bytes(arguments.resident)
        return
    with tempfile.TemporaryDirectory() as folder:
        print_one_program(arguments.layers, build_plain_c(Path(folder)))
    print()
    print_units(arguments.layers)
    print()
    print_whole_call(arguments.layers)
    print()
    print_drops(arguments.layers)
    print()
    print_curve(arguments.layers)


if __name__ == "__main__":
    main()
