"""Baselines of one budget: what frameworks do, each with the best depth of prefetching.

They plan weights and activations apart from each other: all of a kind is treated alike.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping

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


def _streamed(*, on_host: bool) -> list[StageChoice]:
    """Return choices that bring weights for every use; updates as asked, where possible."""
    place = UpdatePlace.HOST if on_host else UpdatePlace.AT_ONCE
    return [
        choice._replace(away_between=True, away_after=True, states_away=True, update=place)
        for choice in (RECOMPUTED, CHECKPOINTS_SENT)
    ]


def solve_resident(problem: TrainingChain, options: SolveOptions) -> Outcome:
    """Return the schedule that keeps everything on the device, if it fits."""
    return _solve(problem, options, "resident")


def _resident(problem: TrainingChain) -> Iterator[JointPlan]:
    return _alike(problem, [KEPT], (0,))


def solve_recompute_all(problem: TrainingChain, options: SolveOptions) -> Outcome:
    """Return the schedule that keeps weights, states and outputs, and computes the rest again.

    With the states on the host where that is faster or the only way.
    """
    return _solve(problem, options, "recompute-all")


def _recompute_all(problem: TrainingChain) -> Iterator[JointPlan]:
    return _alike(problem, [RECOMPUTED, RECOMPUTED._replace(states_away=True)], DEPTHS)


def solve_l2l_recompute(problem: TrainingChain, options: SolveOptions) -> Outcome:
    """Return L2L with all recomputed: weights come for each use, updates run on the device.

    Where the update on the device takes more memory than there is, the host does it. Source:
    Pudipeddi et al. 2020, arXiv:2002.05645.
    """
    return _solve(problem, options, "l2l-recompute")


def _l2l_recompute(problem: TrainingChain) -> Iterator[JointPlan]:
    choices = [choice for on_host in (False, True) for choice in _streamed(on_host=on_host)]
    return _alike(problem, choices, DEPTHS)


def solve_zero_offload(problem: TrainingChain, options: SolveOptions) -> Outcome:
    """Return ZeRO-Offload: weights on the device, gradients, states and updates on the host.

    Activations are kept, or computed again where that does not fit. Source: Ren et al. 2021,
    arXiv:2101.06840.
    """
    if not host_updates(problem):
        return _no_host_update("zero-offload")
    return _solve(problem, options, "zero-offload")


def _zero_offload(problem: TrainingChain) -> Iterator[JointPlan]:
    choices = [choice._replace(update=UpdatePlace.HOST) for choice in (KEPT, RECOMPUTED)]
    return _alike(problem, choices, DEPTHS)


def solve_zero_infinity(problem: TrainingChain, options: SolveOptions) -> Outcome:
    """Return ZeRO-Infinity: weights, gradients, states and checkpoints on the host.

    Updates run there; the outputs of stages are sent where that is faster or the only way. Source:
    Rajbhandari et al. 2021, arXiv:2104.07857.
    """
    if not host_updates(problem):
        return _no_host_update("zero-infinity")
    return _solve(problem, options, "zero-infinity")


def _zero_infinity(problem: TrainingChain) -> Iterator[JointPlan]:
    return _alike(problem, _streamed(on_host=True), DEPTHS)


def solve_prefetch_next(problem: TrainingChain, options: SolveOptions) -> Outcome:
    """Return FSDP's way on one device: the weights of the next stage come while one runs.

    All weights are away between their uses, and exactly one stage is brought ahead; activations are
    kept, computed again, or their outputs sent. Source: Zhao et al. 2023, arXiv:2304.11277.
    """
    return _solve(problem, options, "fsdp")


def _prefetch_next(problem: TrainingChain) -> Iterator[JointPlan]:
    streamed = _streamed(on_host=True)
    return _alike(problem, [streamed[0]._replace(saved=Way.KEPT), *streamed], (1,))


def solve_offload_activations(problem: TrainingChain, options: SolveOptions) -> Outcome:
    """Return the schedule that sends all activations to the host, weights resident or streamed."""
    return _solve(problem, options, "offload-activations")


def _offload_activations(problem: TrainingChain) -> Iterator[JointPlan]:
    choices = [SENT, SENT._replace(states_away=True)]
    choices += [_streamed(on_host=place)[0]._replace(saved=Way.SENT) for place in (False, True)]
    return _alike(problem, choices, DEPTHS)


# By the method's name, those of few plans first.
_PLANS: Mapping[str, Callable[[TrainingChain], Iterator[JointPlan]]] = {
    "resident": _resident,
    "fsdp": _prefetch_next,
    "recompute-all": _recompute_all,
    "zero-offload": _zero_offload,
    "zero-infinity": _zero_infinity,
    "l2l-recompute": _l2l_recompute,
    "offload-activations": _offload_activations,
}
_BY_THE_HOST = ("zero-offload", "zero-infinity")


def plans_of_baselines(problem: TrainingChain) -> Iterator[tuple[str, Iterator[JointPlan]]]:
    """Yield the method's name and the plans of each baseline, those of few plans first."""
    for method, plans in _PLANS.items():
        if method not in _BY_THE_HOST or host_updates(problem):
            yield method, plans(problem)


def _solve(problem: TrainingChain, options: SolveOptions, method: str) -> Outcome:
    return solve_by_plans(problem, options, _PLANS[method](problem), method)


def host_updates(problem: TrainingChain) -> bool:
    """Tell whether the host can do all updates."""
    return all(stage.host_can_update for stage in problem.instance if stage.is_trained)


def _no_host_update(method: str) -> Outcome:
    return Outcome(
        termination=Termination.COMPLETED,
        note=f"{method} updates on the host, for which some stage has no host_update_ns",
    )
