"""Cuts with a given part: their least bottleneck, and a bound below all of theirs."""

from __future__ import annotations

import numpy as np

from jettison.instances.pipeline_chain.problem import PipelineChain
from jettison.solvers.pipeline_chain.baselines import EachAgain, times_of
from jettison.solvers.pipeline_chain.cutting import Cutting
from jettison.solvers.pipeline_chain.device_times import NEVER_NS, PipelineNeeds
from tests.drawing.pipelines import drawn_pipeline
from tests.pipeline_chain.oracles.by_enumeration import all_spans

SEEDS = range(80)


def cutting_of(problem: PipelineChain) -> Cutting:
    needs = PipelineNeeds(problem, problem.instance)
    return Cutting(problem, needs, times_of(EachAgain(), needs))


def test_bottlenecks_with_a_part_are_the_least_of_all_cuts_that_have_it() -> None:
    for seed in SEEDS:
        problem = drawn_pipeline(seed, most_stages=8)
        cutting = cutting_of(problem)
        least = np.full_like(cutting.busy_ns, NEVER_NS)
        for spans in all_spans(len(problem.instance), problem.devices):
            most_ns = max(cutting.busy_of(tuple(spans)))
            for at, (first, last) in enumerate(spans):
                before = least[at, first - 1, last - 1]
                least[at, first - 1, last - 1] = min(before, most_ns)
        found = cutting.bottlenecks_with()
        assert (found[least < NEVER_NS] == least[least < NEVER_NS]).all(), seed
        assert (found[least >= NEVER_NS] >= NEVER_NS).all(), seed


def test_no_cuts_with_a_part_have_a_lesser_bound_than_the_part() -> None:
    tight = parts = 0
    for seed in SEEDS:
        problem = drawn_pipeline(seed, most_stages=8)
        cutting = cutting_of(problem)
        found = cutting.bounds_with()
        for spans in all_spans(len(problem.instance), problem.devices):
            if max(cutting.busy_of(tuple(spans))) >= NEVER_NS:
                continue
            bound_ns = cutting.bound_ns(tuple(spans))
            for at, (first, last) in enumerate(spans):
                part_ns = found[at, first - 1, last - 1]
                assert part_ns <= bound_ns, (seed, spans)
                tight += int(part_ns == bound_ns)
                parts += 1
    # Were the bounds of parts empty, nothing would be left out.
    assert 4 * tight > parts > 500
