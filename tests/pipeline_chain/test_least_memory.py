"""Least memory of a pipeline: a bracket that holds the least one of the enumeration."""

from __future__ import annotations

from dataclasses import replace

from jettison.solvers.core.clock import Clock
from jettison.solvers.pipeline_chain.least_memory import least_memory
from jettison.solvers.pipeline_chain.pipeline_params import PIPELINE, PipelineParams
from tests.drawing.pipelines import drawn_pipeline
from tests.pipeline_chain.oracles.by_enumeration import best_pipeline


def test_the_least_memory_is_that_of_the_enumeration() -> None:
    coarse = PipelineParams(first_slots=13, most_slots=13, most_exact_slots=1)
    wide = 0
    for seed in range(6):
        problem = replace(drawn_pipeline(seed, most_stages=4), memory="0B")
        least_bytes = next(
            size for size in range(200) if best_pipeline(replace(problem, memory=f"{size}B"))
        )
        if least_bytes == 0:
            continue
        found = least_memory(problem, PIPELINE, None, Clock(None))
        assert found.least_bytes == found.enough_bytes == least_bytes, seed
        rounded = least_memory(problem, coarse, None, Clock(None))
        assert rounded.enough_bytes is not None
        assert rounded.least_bytes <= least_bytes <= rounded.enough_bytes, seed
        wide += rounded.least_bytes < rounded.enough_bytes
    assert wide > 0
