"""A schedule to begin from, and what a caller hears of a search."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import jettison as jt
from jettison import Bound, InputError, ScheduleClass
from jettison.core import Replay
from jettison.solvers.core.method import Promise
from jettison.solvers.core.outcome import SolveOptions
from jettison.solvers.core.problem import Problem
from jettison.solvers.core.registry import find_method, methods_of
from jettison.solvers.core.result import replay_schedule
from jettison.solvers.core.solve import solve_with
from jettison.solvers.core.status import Termination
from tests.remat_sharding.tiny_sharded import WAITING
from tests.tiny import GRAPHS, STRATEGY_GRAPHS, TRAINED_CHAINS, UNEVEN
from tests.tiny_models import MULTI_MODELS
from tests.weight_offload.layers import layers_in

# Fits in nine tenths of its memory, and only if something is computed again.
GRAPH = next(graph for graph in GRAPHS if graph.name == "diamond")
MODELS = jt.MultiModelTraining(MULTI_MODELS[2], "70%")
SHARDING = jt.Sharding(STRATEGY_GRAPHS[0], "100%")
# Equal layers that come back for the first and for the last layer: the closed form is met.
OFFLOADED = layers_in(16, (0, 0, 0, 8), (0, 0, 0, 8))
PROBLEMS: list[Problem] = [
    jt.RematChain(UNEVEN, "80%"),
    jt.RematOffloadChain(UNEVEN, "80%", "1GB/s"),
    jt.RematGraph(GRAPH, "90%"),
    jt.RematOffloadGraph(GRAPH, "90%", "1GB/s"),
    jt.RematArena(GRAPH, "90%"),
    MODELS,
    SHARDING,
    jt.RematSharding(WAITING, 9),
    OFFLOADED,
    jt.TrainingChain(TRAINED_CHAINS[0], "70%", "1GB/s"),
    jt.PipelineChain(UNEVEN, 60, 2, 3),
]


@pytest.mark.parametrize("problem", PROBLEMS, ids=lambda problem: problem.problem)
def test_every_method_tells_of_what_it_hands_out_and_of_nothing_worse_after_that(
    problem: Problem,
) -> None:
    for method in methods_of(problem.problem):
        times: list[int] = []
        bounds: dict[str, list[int]] = {}

        def hear(_: object, replay: Replay, times: list[int] = times) -> None:
            assert replay.valid
            times.append(replay.time_ns)

        def hear_bound(bound: Bound, bounds: dict[str, list[int]] = bounds) -> None:
            bounds.setdefault(bound.valid_for, []).append(bound.time_ns)

        options = SolveOptions(time_limit_s=None, on_schedule=hear, on_bound=hear_bound)
        result = solve_with(problem, method.name, options)
        assert times == sorted(set(times), reverse=True), method.name
        # A method that only bounds may tell of schedules on its way.
        if method.promise is not Promise.BOUND:
            assert (times[-1] if times else None) == result.time_ns, method.name
        for found in bounds.values():
            assert found == sorted(set(found)), method.name
        for bound in result.bounds:
            if bound.method != "base-time":
                told = [
                    found[-1]
                    for known, found in bounds.items()
                    if ScheduleClass(known).covers(bound.valid_for)
                ]
                assert max(told) >= bound.time_ns, method.name


@pytest.mark.parametrize("problem", PROBLEMS, ids=lambda problem: problem.problem)
def test_no_answer_is_slower_than_the_start(problem: Problem) -> None:
    best = jt.solve(problem, time_limit=None)
    assert best.schedule is not None
    for method in methods_of(problem.problem):
        if method.promise is Promise.BOUND:
            continue
        options = SolveOptions(time_limit_s=None, start=best.schedule)
        result = solve_with(problem, method.name, options)
        assert result.time_ns is not None
        assert best.time_ns is not None
        assert result.time_ns <= best.time_ns, method.name


# Searches that know their start before anything else, whatever the time.
BEGIN_FROM_IT = {
    "remat-chain": ("unrestricted", "rotor-exact", "rotor", "rotor-drops"),
    "remat-offload-chain": ("pofo", "offload-only", "autocapper"),
    "multi-model": ("local-search", "exact"),
    "weight-offload": ("local-search", "bound-guided", "exact"),
    "training-chain": ("local-search",),
}


@pytest.mark.parametrize("name", BEGIN_FROM_IT)
def test_a_search_without_time_hands_out_its_start(name: str) -> None:
    problem = next(problem for problem in PROBLEMS if problem.problem == name)
    best = jt.solve(problem, time_limit=None)
    assert best.time_ns is not None
    options = SolveOptions(time_limit_s=1e-9, start=best.schedule)
    for method in BEGIN_FROM_IT[name]:
        # The function itself: `solve` would hand out the start of any method.
        outcome = find_method(name, method).run(problem, options)
        assert outcome.schedule is not None, method
        replay = replay_schedule(problem, outcome.schedule)
        assert replay.valid, method
        assert replay.time_ns <= best.time_ns, method


def test_annealing_begins_from_its_start() -> None:
    problem = jt.RematGraph(GRAPH, "90%")
    best = jt.solve(problem, "exact")
    heard: list[int] = []
    jt.solve(
        problem,
        "anneal",
        params={"moves_at_once": 1},
        start=best.schedule,
        on_schedule=lambda _, replay: heard.append(replay.time_ns),
    )
    assert heard == [best.time_ns]


def test_rotor_has_its_start_before_any_table() -> None:
    problem = jt.RematChain(UNEVEN, "80%")
    best = jt.solve(problem, "rotor-exact")
    options = SolveOptions(time_limit_s=1e-9, start=best.schedule)
    assert solve_with(problem, "rotor", options).time_ns == best.time_ns


def test_a_start_that_breaks_a_rule_or_would_do_nothing_is_refused() -> None:
    full = jt.solve(jt.RematChain(UNEVEN, "100%"), "store-all").schedule
    problem = jt.RematChain(UNEVEN, "80%")
    with pytest.raises(InputError, match=r"start: the schedule breaks a rule: .*out of memory"):
        jt.solve(problem, start=full)
    with pytest.raises(InputError, match="start: cut-bound proves a bound and makes no schedule"):
        jt.solve(problem, "cut-bound", start=full)
    with pytest.raises(
        InputError, match="schedule: StrategyChoice is not a schedule for remat-chain"
    ):
        jt.solve(problem, start=jt.solve(SHARDING).schedule)


def test_ctrl_c_in_a_callback_ends_the_search_with_what_it_has() -> None:
    def stop(_: object, __: Replay) -> None:
        raise KeyboardInterrupt

    problem = jt.RematGraph(GRAPH, "90%")
    result = jt.solve(problem, "anneal", params={"moves_at_once": 1}, on_schedule=_once(stop))
    assert result.termination is Termination.INTERRUPTED


def _once(call: Callable[[object, Replay], None]) -> Callable[[object, Replay], None]:
    calls: list[int] = []

    def first(schedule: object, replay: Replay) -> None:
        calls.append(1)
        if len(calls) == 1:
            call(schedule, replay)

    return first
