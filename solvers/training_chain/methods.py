"""The methods of training-chain, the default one first."""

from __future__ import annotations

from jettison.instances.training_chain.problem import TrainingChain
from jettison.solvers.core.method import Method, Promise, Tuned
from jettison.solvers.remat_offload.cut_bound.cuts import OFFLOAD_CUTS
from jettison.solvers.training_chain.all_on_host import solve_all_on_host
from jettison.solvers.training_chain.baselines import (
    solve_l2l_recompute,
    solve_offload_activations,
    solve_prefetch_next,
    solve_recompute_all,
    solve_resident,
    solve_zero_infinity,
    solve_zero_offload,
)
from jettison.solvers.training_chain.best_split import SPLIT, solve_best_split
from jettison.solvers.training_chain.bounds.activations_bound import bound_activations
from jettison.solvers.training_chain.bounds.cycle_method import CYCLE, bound_training_cycle
from jettison.solvers.training_chain.bounds.weights_bound import bound_training_weights
from jettison.solvers.training_chain.exact_step import TRAINING_EXACT, solve_training_exactly
from jettison.solvers.training_chain.local_search import TRAINING_SEARCH, solve_joint_search
from jettison.solvers.weight_offload.bounds.aggregated import AGGREGATED

METHODS: tuple[Method[TrainingChain], ...] = (
    Method(
        "local-search",
        Promise.BRACKET,
        "changes to joint plans of activations, weights, states and updates; with the bounds",
        "one plan for all tensors, changed at random; no worse than baselines that end in time",
        solve=Tuned(solve_joint_search, TRAINING_SEARCH),
        baselines=(
            "resident",
            "offload-all",
            "fsdp",
            "recompute-all",
            "zero-offload",
            "zero-infinity",
            "l2l-recompute",
            "offload-activations",
            "best-split",
        ),
        bounds_of=("cycle", "cut-bound", "weights-bound"),
    ),
    Method(
        "exact",
        Promise.EXACT,
        "one budget; all states of the memory of a short step",
        "the least time with its proof, for steps of a few stages; longer ones are declined",
        solve=Tuned(solve_training_exactly, TRAINING_EXACT),
    ),
    Method(
        "best-split",
        Promise.HEURISTIC,
        "RR-9302, Theorem 1, beside the paper on weight offloading, Algorithm 1",
        "the memory divided between activations and weights, each part planned alone",
        solve=Tuned(solve_best_split, SPLIT),
    ),
    Method(
        "l2l-recompute",
        Promise.HEURISTIC,
        "Pudipeddi et al. 2020, arXiv:2002.05645",
        "weights come for each use, activations inside of stages are computed again",
        solve=solve_l2l_recompute,
    ),
    Method(
        "zero-infinity",
        Promise.HEURISTIC,
        "Rajbhandari et al. 2021, arXiv:2104.07857",
        "weights, gradients, states and checkpoints on the host, which does the updates",
        solve=solve_zero_infinity,
    ),
    Method(
        "zero-offload",
        Promise.HEURISTIC,
        "Ren et al. 2021, arXiv:2101.06840",
        "weights on the device; gradients, states and updates on the host",
        solve=solve_zero_offload,
    ),
    Method(
        "fsdp",
        Promise.HEURISTIC,
        "Zhao et al. 2023, arXiv:2304.11277",
        "weights come one stage ahead, whatever the memory is",
        solve=solve_prefetch_next,
    ),
    Method(
        "recompute-all",
        Promise.HEURISTIC,
        "Chen et al. 2016, arXiv:1604.06174",
        "weights and the outputs of stages stay, the rest is computed again",
        solve=solve_recompute_all,
    ),
    Method(
        "offload-activations",
        Promise.HEURISTIC,
        "Rhu et al. 2016, arXiv:1602.08124",
        "all activations are sent to the host; weights stay, or come for each use",
        solve=solve_offload_activations,
    ),
    Method(
        "offload-all",
        Promise.HEURISTIC,
        "folklore",
        "move everything after every use; fits wherever the host can do the updates",
        solve=solve_all_on_host,
    ),
    Method(
        "resident",
        Promise.HEURISTIC,
        "folklore",
        "everything stays on the device, nothing moves and nothing is computed again",
        solve=solve_resident,
    ),
    Method(
        "cycle",
        Promise.BOUND,
        "one budget; a linear program around the cycle of a step",
        "all tensors, moves, reruns and updates in one model; holds for all schedules",
        solve=Tuned(bound_training_cycle, CYCLE),
    ),
    Method(
        "cut-bound",
        Promise.BOUND,
        "POFO's problem; every operation has its weights as memory overhead",
        "what the activations alone force to be computed again or moved; for all schedules",
        solve=Tuned(bound_activations, OFFLOAD_CUTS),
    ),
    Method(
        "weights-bound",
        Promise.BOUND,
        "Eyraud-Dubois et al., RR-9566; AGGINT of weights as large as their gradients",
        "what weights and gradients alone have to move; for all schedules",
        solve=Tuned(bound_training_weights, AGGREGATED),
    ),
)
