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
from jettison.solvers.pipeline_chain.chunk_methods import (
    bound_every_order,
    in_plain_order,
    solve_every_order,
    solve_interleaved,
    solve_megatron_interleaved,
)
from jettison.solvers.pipeline_chain.exact import solve_bottleneck
from jettison.solvers.pipeline_chain.pipeline_params import PIPELINE

METHODS: tuple[Method[PipelineChain], ...] = (
    Method(
        "exact",
        Promise.EXACT_PERSISTENT,
        "two-phase programs on RR-9302's table, and a search over the cuts, of this project",
        "the fastest 1F1B step with optimal recomputation on each device; at a limit, and "
        "interleaved, a bracket",
        solve=Tuned(solve_every_order, PIPELINE),
        baselines=(
            "pipedream",
            "megatron-full",
            "gpipe-recompute",
            "equal-time",
            "equal-memory",
            "equal-stages",
            "bottleneck",
            "megatron-interleaved",
            "interleaved",
        ),
    ),
    Method(
        "bottleneck",
        Promise.BRACKET,
        "two-phase programs on RR-9302's table, of this project; cuts as in PipeDream",
        "cuts whose busiest device takes the least time for a micro-batch",
        solve=Tuned(in_plain_order(solve_bottleneck), PIPELINE),
    ),
    Method(
        "step-bound",
        Promise.BOUND,
        "every device fills, works and drains; of this project",
        "a bound on persistent schedules, and one on all schedules",
        solve=Tuned(bound_every_order, PIPELINE),
    ),
    Method(
        "interleaved",
        Promise.HEURISTIC,
        "order of Narayanan et al., SC 2021; cuts and recomputation of this project",
        "interleaved 1F1B of two chunks or more: cuts moved, what chunks keep planned together",
        solve=Tuned(solve_interleaved, PIPELINE),
    ),
    Method(
        "equal-time",
        Promise.HEURISTIC,
        "folklore; the recomputation is that of exact",
        "cuts of equal time without recomputation, then the best recomputation on each device",
        solve=Tuned(in_plain_order(solve_equal_time), PIPELINE),
    ),
    Method(
        "equal-memory",
        Promise.HEURISTIC,
        "folklore; the recomputation is that of exact",
        "cuts of equal peaks without recomputation, then the best recomputation on each device",
        solve=Tuned(in_plain_order(solve_equal_memory), PIPELINE),
    ),
    Method(
        "equal-stages",
        Promise.HEURISTIC,
        "folklore; the recomputation is that of exact",
        "as many stages for each device, then the best recomputation on each device",
        solve=Tuned(in_plain_order(solve_equal_stages), PIPELINE),
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
    Method(
        "megatron-interleaved",
        Promise.HEURISTIC,
        "Narayanan et al., SC 2021",
        "interleaved 1F1B with chunks of as many stages, and one way to recompute that fits",
        solve=solve_megatron_interleaved,
    ),
)
