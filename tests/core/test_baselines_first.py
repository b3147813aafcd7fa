"""Default methods beside their baselines: no worse, whoever runs out of time."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from dataclasses import replace
from unittest.mock import patch

import numpy as np
import pytest

import jettison as jt
from jettison import Chain, RematOffloadChain, RematSharding, ShardedGraph, Sharding, WeightOffload
from jettison.instances.generators.strategy_graphs import StrategyGraphs
from jettison.remat_chain import Stage
from jettison.remat_offload import Transfers
from jettison.remat_sharding import ShardedSchedule
from jettison.solvers.core.baselines_first import BASELINES, schedules_of_baselines
from jettison.solvers.core.clock import Clock
from jettison.solvers.core.method import Promise
from jettison.solvers.core.outcome import Outcome, SolveOptions
from jettison.solvers.core.problem import Problem
from jettison.solvers.core.registry import find_method, methods_of
from jettison.solvers.core.solve import compare_with, solve_with
from jettison.solvers.core.status import Answer, Termination
from jettison.solvers.milp.highs import HighsOptions, solve_model
from jettison.solvers.milp.solution import ModelSolution
from jettison.solvers.remat_offload.least_memory import least_memory_with_offloading
from jettison.solvers.remat_offload.pofo.program import PofoProgram
from jettison.solvers.remat_sharding.kiwi.full import KIWI_FULL
from jettison.solvers.remat_sharding.kiwi.reduced import KIWI_REDUCED
from jettison.solvers.remat_sharding.kiwi.search import KiwiSearch
from tests.drawing.chains import random_chain
from tests.drawing.overheads import with_saving_overheads
from tests.remat_sharding.tiny_sharded import LAYERS, SHARDED_GRAPHS, WAITING
from tests.tiny import UNEVEN

OPTIONS = SolveOptions(time_limit_s=30, gap=0)
SEEDED = ("weight-offload", "remat-offload-chain", "remat-sharding", "sharding")


@pytest.mark.parametrize("problem", SEEDED)
def test_the_default_method_asks_every_heuristic_of_its_table(problem: str) -> None:
    default, *others = methods_of(problem)
    heuristics = {item.name for item in others if item.promise is Promise.HEURISTIC}
    assert heuristics <= set(default.baselines)
    assert len(default.baselines) == len(set(default.baselines))


def test_baselines_are_methods_of_the_same_problem_and_ask_nobody_themselves() -> None:
    for problem in SEEDED:
        for method in methods_of(problem):
            for name in method.baselines:
                assert not find_method(problem, name).baselines


def chain_with_weights(generator: random.Random) -> Chain:
    def stage(name: str, output_bytes: int) -> Stage:
        return Stage(
            name=name,
            forward_ns=generator.randint(1, 9),
            backward_ns=generator.randint(2, 18),
            output_bytes=output_bytes,
            saved_bytes=output_bytes + generator.randint(0, 6),
            forward_overhead_bytes=generator.randint(0, 3),
            backward_overhead_bytes=generator.randint(0, 3),
            weight_bytes=generator.randint(0, 20),
        )

    number = generator.randint(3, 9)
    sizes = [generator.randint(0, 6) for _ in range(number - 1)]
    stages = tuple(stage(f"layer {k}", size) for k, size in enumerate((*sizes, 0)))
    return with_saving_overheads(Chain("random", 3, stages))


def random_problems() -> Iterator[Problem]:
    """Problems of every kind, most of which have no schedule without waiting or recomputing."""
    generator = random.Random(19)
    for _ in range(4):
        chain = chain_with_weights(generator)
        share = f"{generator.randint(45, 90)}%"
        rate = generator.choice([3 * 10**8, 10**9])
        yield WeightOffload(chain, share, rate)
        for transfers in Transfers:
            yield RematOffloadChain(chain, share, rate, transfers)
    for seed in range(3):
        graph = StrategyGraphs(nodes=12 + 4 * seed, limit_percent=40).draw(seed)
        yield Sharding(graph, f"{30 + 8 * seed}%")
    for sharded in SHARDED_GRAPHS:
        yield RematSharding(sharded, "80%")


def _id(problem: Problem) -> str:
    return f"{problem.problem}-{problem.instance.name}-{problem.memory}"


def bundled_problems() -> Iterator[Problem]:
    """Problems whose default method ends by itself, so that no clock is a part of its answer."""
    for name, memory, rate in (
        ("bert-96-b64-table1", "70%", "12GB/s"),
        ("gpt2-38-b16-table1", "95%", "16GB/s"),
    ):
        layers = jt.load(name)
        assert isinstance(layers, Chain)
        yield WeightOffload(layers, memory, rate)
    resnet = jt.load("resnet18-b4-224-cpu")
    assert isinstance(resnet, Chain)
    yield RematOffloadChain(resnet, "80%", 10**9, Transfers.FLUID)
    perceptron = jt.load("mlp-26-mesh2x4")
    assert isinstance(perceptron, ShardedGraph)
    yield RematSharding(perceptron, "100%")


@pytest.mark.parametrize("problem", [*random_problems(), *bundled_problems()], ids=_id)
def test_a_default_method_is_no_worse_than_any_baseline_of_its_table(problem: Problem) -> None:
    default = methods_of(problem.problem)[0]
    # That of weight-offload uses all the time that it has, and ends by itself without a limit.
    limit_s = None if isinstance(problem, WeightOffload) else OPTIONS.time_limit_s
    options = replace(OPTIONS, time_limit_s=limit_s)
    found = solve_with(problem, default.name, options)
    for other in compare_with(problem, default.baselines, options):
        if other.time_ns is not None and other.schedule is not None:
            assert found.time_ns is not None, other.method
            assert found.time_ns <= other.time_ns, other.method


def test_where_the_program_has_no_time_the_answer_is_the_best_of_the_baselines() -> None:
    chain = random_chain(random.Random(3), 40, largest_output_bytes=20)
    memory_bytes = (least_memory_with_offloading(chain) + chain.store_all_peak_bytes) // 2
    problem = RematOffloadChain(chain, memory_bytes, 10**9, Transfers.FLUID)
    with patch.object(PofoProgram, "refine", side_effect=TimeoutError):
        found = solve_with(problem, "pofo", OPTIONS)
        others = compare_with(problem, find_method(problem.problem, "pofo").baselines, OPTIONS)
    times = [other.time_ns for other in others if other.time_ns is not None]
    assert found.time_ns == min(times)
    assert found.termination is Termination.TIME_LIMIT
    assert found.note is not None
    assert found.note.startswith("the time ended the program with")


@pytest.mark.parametrize("method", ["kiwi-reduced", "kiwi-full"])
def test_a_model_of_kiwi_that_is_not_solved_leaves_the_plan_of_alpa(method: str) -> None:
    # In less than the fastest plan needs Alpa takes slower strategies.
    problem = RematSharding(LAYERS, "80%")
    alpa = solve_with(problem, "alpa", OPTIONS)
    unsolved = ModelSolution(termination=Termination.TIME_LIMIT, answer=Answer.UNKNOWN, seconds=0.0)
    with patch(
        "jettison.solvers.remat_graph.cuts.model_runs.solve_in_time", return_value=unsolved
    ) as run:
        found = solve_with(problem, method, OPTIONS)
    assert alpa.time_ns is not None
    assert found.time_ns is not None
    assert found.time_ns <= alpa.time_ns
    assert found.termination is Termination.TIME_LIMIT
    # HiGHS was to start from a plan.
    assert run.call_args.args[1].start is not None


@pytest.mark.parametrize("memory", ["80%", "90%", "100%"])
@pytest.mark.parametrize("search", [KIWI_REDUCED, KIWI_FULL], ids=lambda item: item.method)
def test_a_plan_is_a_point_of_the_models_of_kiwi_with_its_time(
    search: KiwiSearch, memory: str
) -> None:
    checked = 0
    for sharded in (WAITING, LAYERS):
        problem = RematSharding(sharded, memory)
        plan = solve_with(problem, search.method, OPTIONS).schedule
        if not isinstance(plan, ShardedSchedule):
            continue
        checked += 1
        assert search.of_the_class(problem, plan) == plan
        built, model = search.build(problem, Clock(None))
        point = built.point(plan)
        given = np.array([point.get(name, math.nan) for name in model.column_names])
        fixed = replace(
            model,
            column_lower=np.where(np.isnan(given), model.column_lower, given),
            column_upper=np.where(np.isnan(given), model.column_upper, given),
        )
        solution = solve_model(fixed, HighsOptions(gap=0, feasibility_tolerance=1e-9))
        assert solution.objective is not None
        replay = plan.replay(sharded, problem.memory_bytes)
        assert built.time_scale.from_model(solution.objective) == replay.time_ns
    assert checked


def test_ctrl_c_in_a_baseline_ends_the_others_after_its_schedule() -> None:
    problem = RematOffloadChain(UNEVEN, UNEVEN.store_all_peak_bytes, 10**9)
    stored = find_method(problem.problem, "store-all").run(problem, OPTIONS).schedule
    stopped = Outcome(termination=Termination.INTERRUPTED, schedule=stored)
    with patch("jettison.solvers.remat_offload.baselines.Outcome", return_value=stopped):
        schedules = schedules_of_baselines(problem, "pofo", OPTIONS, Clock(None), BASELINES)
        assert next(schedules) == stored
        with pytest.raises(KeyboardInterrupt):
            next(schedules)


def test_without_time_no_baseline_is_asked() -> None:
    problem = RematOffloadChain(UNEVEN, UNEVEN.store_all_peak_bytes, 10**9)
    assert not list(schedules_of_baselines(problem, "pofo", OPTIONS, Clock(0), BASELINES))
