"""Random pipelines against enumeration: plain 1F1B, and two devices of two chunks.

A row for each order: how many were drawn, how many are infeasible, on how many `exact` has the step
of the enumeration, how far it is above it, and how far the bound is below. It fails where a step is
below the enumeration, a bound above it, or an interleaved answer slower than the plain optimum.

    .venv/bin/python benchmarks/pipeline_random.py --count 1000
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from dataclasses import dataclass, field, replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from jettison.instances.pipeline_chain.problem import PipelineChain
from jettison.solvers.core.outcome import SILENT
from jettison.solvers.core.solve import solve_with
from tests.drawing.pipelines import drawn_pipeline
from tests.pipeline_chain.oracles.by_enumeration import best_pipeline
from tests.pipeline_chain.oracles.by_interleaving import best_interleaved


@dataclass
class Count:
    """Count of what was found."""

    drawn: int = 0
    infeasible: int = 0
    proved: int = 0
    not_found: int = 0
    equal: int = 0
    interleaved: int = 0
    above: list[float] = field(default_factory=list)
    bounds: list[float] = field(default_factory=list)

    def add(self, problem: PipelineChain, seed: int) -> None:
        """Compare one problem to the enumeration."""
        self.drawn += 1
        plain = best_pipeline(replace(problem, chunks=1))
        steps = [] if plain is None else [plain[1]]
        if problem.chunks > 1:
            own = best_interleaved(problem, 2)
            steps += [] if own is None else [own]
        found = solve_with(problem, "exact", SILENT)
        if not steps:
            self.infeasible += 1
            self.proved += found.infeasibility is not None
            _require(found.schedule is None, seed)
            return
        best = min(steps)
        _require(found.infeasibility is None, seed)
        _require(all(bound.time_ns <= best for bound in found.bounds), seed)
        if found.time_ns is None:
            _require(plain is None, seed)
            self.not_found += 1
            return
        _require(best <= found.time_ns and (plain is None or found.time_ns <= plain[1]), seed)
        self.equal += found.time_ns == best
        self.interleaved += plain is None or found.time_ns < plain[1]
        if best:
            self.above.append(found.time_ns / best - 1)
            self.bounds.append((found.lower_bound_ns or 0) / best)

    def text(self) -> str:
        """Return the counts on one line."""
        means = (100 * sum(self.above) / len(self.above), sum(self.bounds) / len(self.bounds))
        return (
            f"{self.drawn} drawn, {self.infeasible} infeasible ({self.proved} proved), "
            f"{self.not_found} not found, {self.equal} equal to the enumeration, "
            f"{self.interleaved} faster than plain, {means[0]:.2f} % above it in the mean and "
            f"{100 * max(self.above):.1f} % at most, bound {means[1]:.3f} of it"
        )


def main() -> None:
    """Print a line for each order."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=1000)
    options = parser.parse_args()
    for name, draw in (("1F1B", drawn_pipeline), ("two chunks", _drawn_chunks)):
        start, count, seed = time.process_time(), Count(), 10_000
        while count.drawn < options.count:
            seed += 1
            problem = draw(seed)
            if problem is not None:
                count.add(problem, seed)
        seconds = time.process_time() - start
        print(f"{name}: {count.text()}; {seconds:.0f} s of CPU", flush=True)


def _drawn_chunks(seed: int) -> PipelineChain | None:
    """Draw two devices of up to two chunks; None where there are too few stages."""
    found = drawn_pipeline(seed, most_stages=5)
    if len(found.instance) < 4:
        return None
    batches = random.Random(seed).choice([2, 4])
    memory = f"{found.memory_bytes + 15}B"
    return replace(found, devices=2, chunks=2, microbatches=batches, memory=memory)


def _require(holds: bool, seed: int) -> None:
    if not holds:
        raise RuntimeError(f"seed {seed} contradicts the enumeration")


if __name__ == "__main__":
    main()
