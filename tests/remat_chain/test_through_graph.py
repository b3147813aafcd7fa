"""The integer program on the graph of a chain: the same optimum as the search over contents."""

from __future__ import annotations

import random
from dataclasses import replace

from jettison import Chain, RematChain, RematGraph, ScheduleClass, solve
from jettison.instances.remat_graph.chain_to_graph import graph_memory_bytes
from jettison.remat_graph import GraphSchedule, chain_to_graph
from jettison.solvers.core.outcome import SolveOptions
from tests.drawing.chains import random_chain, stage_of
from tests.each import each
from tests.remat_chain.oracles.brute_force import fastest, fastest_persistent
from tests.remat_chain.oracles.drops_brute_force import fastest_with_drops, trade_off_with_drops
from tests.remat_chain.oracles.from_graph import chain_schedule_of_graph
from tests.remat_chain.oracles.through_graph import solve_through_graph

OPTIONS = SolveOptions(time_limit_s=60, gap=0)


# Found at random: persistence costs 4 ns, and having no drops one more.
SLOWER_IF_PERSISTENT = Chain(
    "slower if persistent",
    1,
    (
        stage_of("first", 4, 1, 1, 1, 3, 5),
        stage_of("second", 4, 8, 3, 3, 1, 1),
        stage_of("third", 5, 2, 0, 1, 4, 4),
        stage_of("loss", 9, 6, 0, 6, 1, 1),
    ),
    backward_overhead_holds_gradient=True,
)


def test_the_graph_yields_a_schedule_that_beats_all_without_drops() -> None:
    assert fastest_persistent(SLOWER_IF_PERSISTENT, 9) == 60
    assert fastest(SLOWER_IF_PERSISTENT, 9) == 56
    assert fastest_with_drops(SLOWER_IF_PERSISTENT, 9) == 55
    problem = RematChain(SLOWER_IF_PERSISTENT, 9)
    outcome = solve_through_graph(problem, OPTIONS, runs=3)
    assert outcome.schedule is not None
    replay = outcome.schedule.replay(problem.instance, 9)
    assert replay.valid
    assert replay.time_ns == 55
    assert replay.schedule_class is ScheduleClass.PERSISTENT_WITH_DROPS
    # More than three runs compute three forwards again, of 4 ns at least: 39 + 12.
    assert [bound.time_ns for bound in outcome.bounds] == [51]
    assert outcome.bounds[0].valid_for is ScheduleClass.ALL


def test_the_best_staged_schedule_of_the_graph_comes_back_to_the_chain() -> None:
    graph = chain_to_graph(SLOWER_IF_PERSISTENT)
    problem = RematGraph(graph, graph_memory_bytes(SLOWER_IF_PERSISTENT, 9))
    staged = solve(problem, "checkmate", gap=0)
    assert staged.status == "optimal-staged"
    # Nothing that is saved lacks the room for it at the first forward of its stage: stages cost
    # nothing here.
    assert staged.time_ns == 55
    assert isinstance(staged.schedule, GraphSchedule)
    replay = chain_schedule_of_graph(SLOWER_IF_PERSISTENT, staged.schedule).replay(
        SLOWER_IF_PERSISTENT, 9
    )
    assert replay.valid
    assert replay.time_ns == 55


@each(seed=range(3))
def test_enough_runs_prove_the_optimum_of_all_schedules(seed: int) -> None:
    generator = random.Random(seed)
    solved = 0
    while solved < 3:
        drawn = random_chain(generator, 3)
        # No forward is free, so that the time tells how many run again.
        stages = tuple(replace(stage, forward_ns=stage.forward_ns + 1) for stage in drawn)
        chain = replace(drawn, stages=stages)
        least_ns = min(stage.forward_ns for stage in chain)
        for memory, best_ns in trade_off_with_drops(chain):
            # So many forwards at most run again in the time of the optimum, each in a new run.
            again = (best_ns - chain.base_time_ns) // least_ns
            if memory >= chain.store_all_peak_bytes or not 1 <= again <= 2:
                continue
            outcome = solve_through_graph(RematChain(chain, memory), OPTIONS, runs=1 + again)
            assert outcome.schedule is not None
            replay = outcome.schedule.replay(chain, memory)
            assert replay.valid
            assert replay.time_ns == outcome.bounds[0].time_ns == best_ns
            solved += 1


def test_too_few_runs_are_no_proof_that_nothing_fits() -> None:
    # In one ascending run nothing is computed again; everything is saved, or nothing fits.
    problem = RematChain(SLOWER_IF_PERSISTENT, 9)
    outcome = solve_through_graph(problem, OPTIONS, runs=1)
    assert outcome.schedule is None
    assert outcome.infeasibility is None
    assert outcome.note is not None
    # A second run computes a forward again.
    assert outcome.bounds[0].time_ns == 39 + 4
    plenty = RematChain(SLOWER_IF_PERSISTENT, SLOWER_IF_PERSISTENT.store_all_peak_bytes)
    whole = solve_through_graph(plenty, OPTIONS, runs=1)
    assert whole.schedule is not None
    assert whole.schedule.replay(plenty.instance, plenty.memory_bytes).time_ns == 39
    assert whole.bounds[0].time_ns == 39
