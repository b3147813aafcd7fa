"""The methods of pipeline-chain, the default one first."""

from __future__ import annotations

from jettison.instances.pipeline_chain.problem import PipelineChain
from jettison.solvers.core.method import Method, Promise, Tuned
from jettison.solvers.pipeline_chain.baselines import (
    solve_all_again,
    solve_each_again,
    solve_equal_memory,
    solve_equal_stages,
    solve_equal_time,
    solve_keep_all,
)
from jettison.solvers.pipeline_chain.exact import bound_step, solve_bottleneck, solve_exact
from jettison.solvers.pipeline_chain.search import PIPELINE

METHODS: tuple[Method[PipelineChain], ...] = (
    Method(
        "exact",
        Promise.EXACT_PERSISTENT,
        "two-phase programs on RR-9302's table, and a search over the cuts, of this project",
        "the fastest 1F1B step with optimal recomputation on each device; at a limit, a bracket",
        solve=Tuned(solve_exact, PIPELINE),
        baselines=(
            "pipedream",
            "megatron-full",
            "gpipe-recompute",
            "equal-time",
            "equal-memory",
            "equal-stages",
            "bottleneck",
        ),
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
    Method(
        "equal-time",
        Promise.HEURISTIC,
        "folklore; the recomputation is that of exact",
        "cuts of equal time without recomputation, then the best recomputation on each device",
        solve=Tuned(solve_equal_time, PIPELINE),
    ),
    Method(
        "equal-memory",
        Promise.HEURISTIC,
        "folklore; the recomputation is that of exact",
        "cuts of equal peaks without recomputation, then the best recomputation on each device",
        solve=Tuned(solve_equal_memory, PIPELINE),
    ),
    Method(
        "equal-stages",
        Promise.HEURISTIC,
        "folklore; the recomputation is that of exact",
        "as many stages for each device, then the best recomputation on each device",
        solve=Tuned(solve_equal_stages, PIPELINE),
    ),
    Method(
        "pipedream",
        Promise.HEURISTIC,
        "Narayanan et al., SOSP 2019; Fan et al. (DAPPLE), PPoPP 2021; without replication",
        "cuts of least bottleneck that fit with nothing computed again",
        solve=solve_keep_all,
    ),
    Method(
        "megatron-full",
        Promise.HEURISTIC,
        "Narayanan et al., SC 2021",
        "each stage computed again from its input, cuts of least bottleneck",
        solve=solve_each_again,
    ),
    Method(
        "gpipe-recompute",
        Promise.HEURISTIC,
        "Huang et al., NeurIPS 2019, in the order 1F1B",
        "all of a device's forward computed again from its input, cuts of least bottleneck",
        solve=solve_all_again,
    ),
)
