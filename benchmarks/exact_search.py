"""Time of the exact search on generic chains, whose sizes in bytes share no divisor.

Run: ``python benchmarks/exact_search.py``, or with lengths, ``--seeds`` and ``--alphas``. For each
length L, seed and alpha, a chain of L layers and a loss: activations take 0.5 to 1.5 MiB, what a
layer saves 2 to 8 times its activation, both drawn to the byte; times are 1 to 100 us, to the
nanosecond. The memory lies at alpha between recomputing everything (0) and saving everything (1).
``--bundled`` takes the bundled chains instead; ``--drops`` the search with drops, which starts from
the least memory as well.

Each search runs in a process of its own, on one thread, without a limit but its 2 GiB. A line
gives its CPU seconds, by how much the peak resident memory of the process grew while it ran, the
slots of its finest grid, its states (sub-chains and slots that were bounded, and corners of step
functions), the optimum in milliseconds, and the bracket that is left, in per cent: 0 where the
optimum is proved. The schedule is replayed before the line is printed.
"""

from __future__ import annotations

import argparse
import multiprocessing
import random
import resource
import time
from dataclasses import dataclass

import jettison as jt
from jettison.instances.remat_chain.chain import Chain, Stage
from jettison.instances.remat_chain.problem import RematChain
from jettison.solvers.core.outcome import SolveOptions
from jettison.solvers.remat_chain.drop_search import fastest_with_drops
from jettison.solvers.remat_chain.needs import ChainNeeds
from jettison.solvers.remat_chain.rotor_exact import refine

MIB = 2**20
BUNDLED = (
    "gpt2-d48-h256-b2-128-cpu",
    "resnet101-b2-224-cpu",
    "resnet152-b1-224-cpu",
    "bert-large-b1-128-cpu",
    "vgg19-b1-224-cpu",
)


@dataclass(frozen=True)
class Row:
    """One measurement."""

    seconds: float
    megabytes: float
    slots: int
    states: int
    time_ns: int
    gap: float


def generic_chain(layers: int, seed: int) -> Chain:
    generator = random.Random(seed)
    stages = []
    for number in range(1, layers + 1):
        output_bytes = generator.randint(MIB // 2, 3 * MIB // 2)
        stages.append(
            Stage(
                name=f"layer {number}",
                forward_ns=generator.randint(1_000, 100_000),
                backward_ns=generator.randint(1_000, 100_000),
                output_bytes=output_bytes,
                saved_bytes=generator.randint(2 * output_bytes, 8 * output_bytes),
            )
        )
    loss = Stage(name="loss", forward_ns=1_000, backward_ns=1_000, output_bytes=0, saved_bytes=0)
    return Chain("generic", generator.randint(MIB // 2, 3 * MIB // 2), (*stages, loss))


@dataclass(frozen=True)
class Generic:
    """Parameters of a generic chain, which each process generates for itself."""

    layers: int
    seed: int

    @property
    def name(self) -> str:
        """The name in the printed line."""
        return f"L = {self.layers}, seed {self.seed}"

    def chain(self) -> Chain:
        """Generate it."""
        return generic_chain(self.layers, self.seed)


@dataclass(frozen=True)
class Bundled:
    """Bundled chain."""

    name: str

    def chain(self) -> Chain:
        """Load it."""
        chain = jt.load(self.name)
        assert isinstance(chain, Chain)
        return chain


def measure(source: Generic | Bundled, alpha: str, drops: bool) -> Row:
    chain = source.chain()
    memory_bytes = RematChain(chain, f"alpha={alpha}").memory_bytes
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    started = time.process_time()
    options = SolveOptions(time_limit_s=None, gap=0)
    if drops:
        solved = fastest_with_drops(chain, memory_bytes, options)
        assert solved is not None
        found, slots = solved[0], solved[0].slots
    else:
        found, _, slots = refine(ChainNeeds(chain), memory_bytes, options)
    seconds = time.process_time() - started
    megabytes = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1000
    replay = found.schedule.replay(chain, memory_bytes)
    if not replay.valid or replay.time_ns != found.time_ns:
        raise SystemExit(f"{chain.name}, alpha = {alpha}: the schedule is not what was promised")
    gap = (found.time_ns - found.lower_bound_ns) / found.time_ns
    return Row(seconds, megabytes, slots, found.states, found.time_ns, gap)


def report(source: Generic | Bundled, alpha: str, drops: bool) -> None:
    # A new process starts from a small resident set; one that is forked keeps its parent's peak.
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        row = pool.apply(measure, (source, alpha, drops))
    print(
        f"{source.name:>26} {alpha:>6} {row.seconds:>9.3f} {row.megabytes:>7.0f} {row.slots:>7} "
        f"{row.states:>11} {row.time_ns / 1e6:>12.3f} {100 * row.gap:>8.4f}",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("layers", nargs="*", type=int, default=[20, 50, 100, 200, 339])
    parser.add_argument("--seeds", nargs="*", type=int, default=[1])
    parser.add_argument("--alphas", nargs="*", default=["0.1", "0.2", "0.4"])
    parser.add_argument("--bundled", action="store_true", help="the bundled chains instead")
    parser.add_argument("--drops", action="store_true", help="persistent schedules with drops")
    arguments = parser.parse_args()
    print(
        f"{'chain':>26} {'alpha':>6} {'CPU s':>9} {'MB':>7} {'slots':>7} {'states':>11} "
        f"{'optimum ms':>12} {'left %':>8}"
    )
    sources: list[Generic | Bundled] = [Bundled(name) for name in BUNDLED]
    if not arguments.bundled:
        sources = [Generic(layers, seed) for layers in arguments.layers for seed in arguments.seeds]
    for source in sources:
        for alpha in arguments.alphas:
            report(source, alpha, arguments.drops)


if __name__ == "__main__":
    main()
