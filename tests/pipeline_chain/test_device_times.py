"""Two-phase programs: rotor's table alone is wrong, and roundings bracket what is right."""

from __future__ import annotations

import numpy as np

from jettison.formulations.pipeline_chain.two_phases import TwoPhases
from jettison.instances.pipeline_chain.problem import PipelineChain
from jettison.instances.remat_chain.chain import Chain
from jettison.instances.remat_chain.problem import RematChain
from jettison.solvers.core.outcome import SILENT
from jettison.solvers.pipeline_chain.baselines import AllAgain, EachAgain, KeepAll, times_of
from jettison.solvers.pipeline_chain.device_times import NEVER_NS, PipelineNeeds, device_times
from jettison.solvers.pipeline_chain.exact import solve_exact
from jettison.solvers.remat_chain.needs import ChainNeeds
from jettison.solvers.remat_chain.rotor_exact import solve_rotor_exact
from jettison.solvers.remat_chain.subchain import subchain_operations
from tests.drawing.chains import stage_of
from tests.drawing.pipelines import drawn_pipeline
from tests.pipeline_chain.oracles.by_enumeration import least_times

MANY = 2**28


def exact_times(problem: PipelineChain) -> np.ndarray:
    needs = PipelineNeeds(problem, problem.instance)
    within = np.ones_like(needs.room_bytes, dtype=bool)
    slots = needs.exact_slots(within & (needs.room_bytes >= 0)) or 1
    return device_times(needs, within, slots, rounds_up=True, most_entries=MANY).busy_ns


def rotor_alone(problem: PipelineChain, device: int, first: int, last: int) -> int | None:
    """Time of C(s,t,m), each micro-batch in flight with an equal part of the memory."""
    chain = problem.instance
    room = problem.memory_bytes - problem.resident_bytes(device, first, last)
    own = room // problem.in_flight(device) - chain.activation_bytes(first - 1)
    found = subchain_operations(ChainNeeds(chain), first, last, own) if own >= 0 else None
    if found is None:
        return None
    times = {"B": [item.backward_ns for item in chain]}
    forward = [item.forward_ns for item in chain]
    return sum(times.get(str(item.kind), forward)[item.stage - 1] for item in found)


def test_two_in_flight_share_what_only_one_at_a_time_needs() -> None:
    # Overheads of 6 bytes are needed by the micro-batch that runs, not by the one that waits: with
    # 5 bytes saved, 5 + (5 + 6) fit into 16 and 2 * (5 + 6) do not. Rotor alone finds nothing.
    chain = Chain(
        "overheads", 0, (stage_of("wide", 1, 1, 0, 5, 6, 6), stage_of("loss", 1, 1, 0, 0))
    )
    problem = PipelineChain(chain, 16, 2, 2)
    assert exact_times(problem)[0, 0, 0] == 2
    assert rotor_alone(problem, 1, 1, 1) is None


def test_a_device_may_keep_inputs_only() -> None:
    # C ends the forward phase with F_all of the last stage, whose 9 bytes it keeps. With two in
    # flight 2 * 9 do not fit into 12; but a device that keeps nothing and runs both operations
    # after the gradient has come holds 9 once, for 2 ns more of the forward.
    chain = Chain("saved", 0, (stage_of("wide", 2, 3, 0, 9), stage_of("loss", 1, 1, 0, 0)))
    problem = PipelineChain(chain, 12, 2, 2)
    assert exact_times(problem)[0, 0, 0] == 2 + 2 + 3
    assert rotor_alone(problem, 1, 1, 1) is None


def test_the_gradient_is_not_there_in_the_forward_phase() -> None:
    # F 1 needs 1 + 6 bytes while it runs and the gradient of 4 comes after it. C counts both: 11.
    # With the buffer of the gradient, 4 more. The forward needs 4 + 7, the backward 4 + 4 + 4.
    chain = Chain("gradient", 0, (stage_of("wide", 1, 1, 4, 4, 3), stage_of("loss", 1, 1, 0, 0)))
    problem = PipelineChain(chain, 12, 2, 1)
    assert exact_times(problem)[0, 0, 0] == 2
    assert rotor_alone(problem, 1, 1, 1) is None


def test_rotor_alone_often_finds_nothing_or_a_slower_sequence() -> None:
    feasible = nothing = slower = 0
    for seed in range(40):
        problem = drawn_pipeline(seed)
        times = exact_times(problem) - sends(problem)
        for device, first, last in np.argwhere(exact_times(problem) < NEVER_NS) + 1:
            best = int(times[device - 1, first - 1, last - 1])
            alone = rotor_alone(problem, int(device), int(first), int(last))
            feasible += 1
            nothing += alone is None
            slower += alone is not None and alone > best
            if problem.in_flight(int(device)) == 1 and alone is not None:
                assert alone >= best
    assert nothing > feasible // 10
    assert slower > 0


def sends(problem: PipelineChain) -> np.ndarray:
    needs = PipelineNeeds(problem, problem.instance)
    return needs.send_forward_ns + needs.send_backward_ns


def test_one_device_is_rotor() -> None:
    for seed in range(30):
        drawn = drawn_pipeline(seed)
        problem = PipelineChain(drawn.instance, drawn.memory_bytes, 1, 3, None, 0)
        found = solve_rotor_exact(RematChain(drawn.instance, drawn.memory_bytes), SILENT)
        time = int(exact_times(problem)[0, 0, -1])
        if found.schedule is None:
            assert time >= NEVER_NS, seed
        else:
            assert found.schedule.replay(drawn.instance).time_ns == time, seed


def test_one_device_is_rotor_beside_what_stays_there_for_any_number_of_micro_batches() -> None:
    fitting = 0
    for seed in range(30):
        drawn = drawn_pipeline(seed)
        chain, memory = drawn.instance, drawn.memory_bytes
        weights = sum(stage.weight_bytes for stage in chain)
        found = solve_rotor_exact(RematChain(chain, memory), SILENT)
        for microbatches in (1, 3):
            problem = PipelineChain(chain, memory + 4 * weights, 1, microbatches, None, 4)
            step = solve_exact(problem, SILENT).schedule
            assert (step is None) == (found.schedule is None), seed
            if step is not None and found.schedule is not None:
                fitting += 1
                alone_ns = found.schedule.replay(chain).time_ns
                assert step.replay(problem).time_ns == microbatches * alone_ns, seed
    assert fitting > 10


def test_each_device_has_the_time_of_the_enumeration() -> None:
    for seed in range(15):
        problem = drawn_pipeline(seed)
        times = exact_times(problem) - sends(problem)
        needs = PipelineNeeds(problem, problem.instance)
        for device, first, last in np.argwhere(needs.room_bytes >= 0) + 1:
            best = least_times(problem, int(device), int(first), int(last))
            own = int(times[device - 1, first - 1, last - 1])
            assert own == sum(best) if best else own >= NEVER_NS // 2, (seed, device, first, last)


def test_the_program_as_it_reads_has_the_same_times() -> None:
    for seed in range(40):
        problem = drawn_pipeline(seed)
        times = exact_times(problem) - sends(problem)
        needs = PipelineNeeds(problem, problem.instance)
        for device, first, last in np.argwhere(needs.room_bytes >= 0) + 1:
            room = int(needs.room_bytes[device - 1, first - 1, last - 1])
            program = TwoPhases(problem.instance, int(first), int(last))
            least = program.least_ns(room, problem.in_flight(int(device)))
            own = int(times[device - 1, first - 1, last - 1])
            assert own == least if least is not None else own >= NEVER_NS // 2, seed


def test_roundings_bracket_the_time() -> None:
    closed = 0
    for seed in range(40):
        problem = drawn_pipeline(seed)
        needs = PipelineNeeds(problem, problem.instance)
        within = np.ones_like(needs.room_bytes, dtype=bool)
        exact = exact_times(problem)
        for slots in (5, 11, 23):
            low, high = (
                device_times(needs, within, slots, rounds_up=up, most_entries=MANY).busy_ns
                for up in (False, True)
            )
            assert (low <= exact).all(), seed
            assert (exact <= high).all(), seed
            closed += int((low == high).all())
    assert closed > 10


def test_what_the_fixed_ways_need_is_what_the_replay_says() -> None:
    checked = 0
    for seed in range(60):
        problem = drawn_pipeline(seed)
        needs = PipelineNeeds(problem, problem.instance)
        for way in (KeepAll(), EachAgain(), AllAgain()):
            for first in range(1, len(problem.instance) + 1):
                used = way.usage(needs, first)
                for device, last in np.argwhere(needs.room_bytes[:, first - 1] >= 0) + 1:
                    plan = way.plan(first, int(last))
                    run = _alone(problem, int(device), plan.first, plan.last, plan)
                    inputs = problem.instance.activation_bytes(first - 1)
                    assert run.kept_bytes - inputs == used.kept_bytes[last - first], seed
                    peak = max(run.forward_peak_bytes, run.backward_peak_bytes) - inputs
                    assert peak == used.peak_bytes[last - first], (seed, way)
                    checked += 1
        assert (times_of(KeepAll(), needs) >= exact_times(problem)).all()
    assert checked > 500


def _alone(problem: PipelineChain, device: int, first: int, last: int, plan: object) -> object:
    from jettison.schedules.pipeline_chain.phase_memory import MicroBatchReplay

    def broken(*found: object) -> None:
        raise AssertionError(found)

    return MicroBatchReplay(problem.instance, first, last, broken).run(plan.forward, plan.backward)
