"""Baselines of one budget: what frameworks do, each with the best depth of prefetching.

They plan weights and activations apart from each other: all of a kind is treated alike.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from jettison.instances.training_chain.problem import TrainingChain
from jettison.solvers.core.outcome import Outcome, SolveOptions
from jettison.solvers.core.status import Termination
from jettison.solvers.training_chain.stage_choices import (
    JointPlan,
    StageChoice,
    UpdatePlace,
    Way,
)
from jettison.solvers.training_chain.sweep_plans import DEPTHS, at_depths, solve_by_plans

# Everything kept, or only the outputs of stages, or these on the host.
KEPT = StageChoice()
RECOMPUTED = StageChoice(saved=Way.AGAIN)
CHECKPOINTS_SENT = StageChoice(saved=Way.AGAIN, output=Way.SENT)
SENT = StageChoice(saved=Way.SENT)


def _alike(
    problem: TrainingChain, choices: Iterable[StageChoice], depths: tuple[int, ...]
) -> Iterator[JointPlan]:
    for choice in choices:
        yield from at_depths([choice] * len(problem.instance), depths)


def _streamed(problem: TrainingChain, *, on_host: bool) -> list[StageChoice]:
    """Return choices that bring weights for every use; updates as asked, where possible."""
    place = UpdatePlace.HOST if on_host else UpdatePlace.AT_ONCE
    return [
        choice._replace(away_between=True, away_after=True, states_away=True, update=place)
        for choice in (RECOMPUTED, CHECKPOINTS_SENT)
    ]


def solve_resident(problem: TrainingChain, options: SolveOptions) -> Outcome:
    """Return the schedule that keeps everything on the device, if it fits."""
    return solve_by_plans(problem, options, _alike(problem, [KEPT], (0,)), "resident")


def solve_recompute_all(problem: TrainingChain, options: SolveOptions) -> Outcome:
    """Return the schedule that keeps weights, states and outputs, and computes the rest again.

    With the states on the host where that is faster or the only way.
    """
    choices = [RECOMPUTED, RECOMPUTED._replace(states_away=True)]
    return solve_by_plans(problem, options, _alike(problem, choices, DEPTHS), "recompute-all")


def solve_l2l_recompute(problem: TrainingChain, options: SolveOptions) -> Outcome:
    """Return L2L with all recomputed: weights come for each use, updates run on the device.

    Where the update on the device takes more memory than there is, the host does it. Source:
    Pudipeddi et al. 2020, arXiv:2002.05645.
    """
    choices = [
        choice for on_host in (False, True) for choice in _streamed(problem, on_host=on_host)
    ]
    return solve_by_plans(problem, options, _alike(problem, choices, DEPTHS), "l2l-recompute")


def solve_zero_offload(problem: TrainingChain, options: SolveOptions) -> Outcome:
    """Return ZeRO-Offload: weights on the device, gradients, states and updates on the host.

    Activations are kept, or computed again where that does not fit. Source: Ren et al. 2021,
    arXiv:2101.06840.
    """
    if not _host_updates(problem):
        return _no_host_update("zero-offload")
    choices = [choice._replace(update=UpdatePlace.HOST) for choice in (KEPT, RECOMPUTED)]
    return solve_by_plans(problem, options, _alike(problem, choices, DEPTHS), "zero-offload")


def solve_zero_infinity(problem: TrainingChain, options: SolveOptions) -> Outcome:
    """Return ZeRO-Infinity: weights, gradients, states and checkpoints on the host.

    Updates run there; the outputs of stages are sent where that is faster or the only way. Source:
    Rajbhandari et al. 2021, arXiv:2104.07857.
    """
    if not _host_updates(problem):
        return _no_host_update("zero-infinity")
    choices = _streamed(problem, on_host=True)
    return solve_by_plans(problem, options, _alike(problem, choices, DEPTHS), "zero-infinity")


def solve_prefetch_next(problem: TrainingChain, options: SolveOptions) -> Outcome:
    """Return FSDP's way on one device: the weights of the next stage come while one runs.

    All weights are away between their uses, and exactly one stage is brought ahead; activations are
    kept, computed again, or their outputs sent. Source: Zhao et al. 2023, arXiv:2304.11277.
    """
    streamed = _streamed(problem, on_host=True)
    kept = streamed[0]._replace(saved=Way.KEPT)
    return solve_by_plans(problem, options, _alike(problem, [kept, *streamed], (1,)), "fsdp")


def solve_offload_activations(problem: TrainingChain, options: SolveOptions) -> Outcome:
    """Return the schedule that sends all activations to the host, weights resident or streamed."""
    choices = [SENT, SENT._replace(states_away=True)]
    for on_host in (False, True):
        streamed = _streamed(problem, on_host=on_host)[0]
        choices.append(streamed._replace(saved=Way.SENT))
    return solve_by_plans(problem, options, _alike(problem, choices, DEPTHS), "offload-activations")


def _host_updates(problem: TrainingChain) -> bool:
    return all(stage.host_can_update for stage in problem.instance if stage.is_trained)


def _no_host_update(method: str) -> Outcome:
    return Outcome(
        termination=Termination.COMPLETED,
        note=f"{method} updates on the host, for which some stage has no host_update_ns",
    )
