"""The methods of pipeline-chain, the default one first."""

from __future__ import annotations

from jettison.instances.pipeline_chain.problem import PipelineChain
from jettison.solvers.core.method import Method, Promise, Tuned
from jettison.solvers.pipeline_chain.exact import bound_step, solve_bottleneck, solve_exact
from jettison.solvers.pipeline_chain.search import PIPELINE

METHODS: tuple[Method[PipelineChain], ...] = (
    Method(
        "exact",
        Promise.EXACT_PERSISTENT,
        "two-phase programs on RR-9302's table, and a search over the cuts, of this project",
        "the fastest 1F1B step with optimal recomputation on each device; at a limit, a bracket",
        solve=Tuned(solve_exact, PIPELINE),
    ),
    Method(
        "bottleneck",
        Promise.BRACKET,
        "two-phase programs on RR-9302's table, of this project; cuts as in PipeDream",
        "cuts whose busiest device takes the least time for a micro-batch",
        solve=Tuned(solve_bottleneck, PIPELINE),
    ),
    Method(
        "step-bound",
        Promise.BOUND,
        "every device fills, works and drains; of this project",
        "a bound on persistent schedules, and one on all schedules",
        solve=Tuned(bound_step, PIPELINE),
    ),
)
