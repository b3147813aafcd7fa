r"""Pipelines as people plan them: where the cuts are, and what each device recomputes.

Two questions that are answered one after the other, or not at all. The cuts: as many stages for
each device, as little time for the busiest one as possible whatever the memory, or as little memory
for the fullest one. Recomputation: none, as in PipeDream and DAPPLE; all of a device's forward
again, as in GPipe; or each stage alone, from its input, as in Megatron-LM's full recomputation.

The peaks of these three follow from the formula of `device_times`. With the sums over the stages
before :math:`i` of a device, and :math:`K` micro-batches in flight:

.. math::

    \text{keep all:}\quad & \kappa = \sum_k \bar a^k, \quad
        \max_i \Bigl( \sum_{k<i} \bar a^k + m_{save}(i) \Bigr) \\
    \text{each stage again:}\quad & \kappa = \sum_{k>s} a^{k-1}, \quad
        \max_i \Bigl( \sum_{s<k\le i} a^{k-1} + \max(a^i + o_f^i, m_{all}(i,i)) \Bigr) \\
    \text{all again:}\quad & \kappa = 0, \quad
        \max\Bigl(m_{pass}(s,t), \max_i \bigl( \sum_{k<i} \bar a^k + m_{all}(i,t) \bigr) \Bigr)

where the input of a device counts apart.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from jettison.instances.pipeline_chain.problem import PipelineChain
from jettison.schedules.pipeline_chain.schedule import DevicePlan, PipelineSchedule, spans_of
from jettison.schedules.remat_chain.schedule import ChainOperation, ChainOperationKind
from jettison.solvers.core.ending import Ending
from jettison.solvers.core.outcome import Outcome, SolveOptions
from jettison.solvers.core.status import Termination
from jettison.solvers.pipeline_chain.cutting import Cutting, Spans
from jettison.solvers.pipeline_chain.device_times import NEVER_NS, PipelineNeeds
from jettison.solvers.pipeline_chain.pipeline_params import PIPELINE, PipelineParams
from jettison.solvers.pipeline_chain.search import PipelineSearch

_ALL = ChainOperationKind.FORWARD_ALL
_CHECKPOINT = ChainOperationKind.FORWARD_CHECKPOINT
_NONE = ChainOperationKind.FORWARD_NONE
_BACKWARD = ChainOperationKind.BACKWARD


@dataclass(frozen=True)
class Usage:
    """Use of a device's memory and time by a fixed way to recompute.

    Attributes
    ----------
    kept_bytes
        What a micro-batch keeps between its phases, its input apart.
    peak_bytes
        Peak of its phases, its input apart.
    again_ns
        Time of what is computed again.
    """

    kept_bytes: NDArray[np.int64]
    peak_bytes: NDArray[np.int64]
    again_ns: NDArray[np.int64]


class Way(Protocol):
    """Protocol of ways to recompute on a device."""

    def usage(self, needs: PipelineNeeds, first: int) -> Usage:
        """Return the usage for every last stage from `first` on."""
        ...

    def plan(self, first: int, last: int) -> DevicePlan:
        """Return the plan of a device."""
        ...


class KeepAll:
    """Way of PipeDream and DAPPLE: nothing is computed again."""

    def usage(self, needs: PipelineNeeds, first: int) -> Usage:
        """Return the usage for every last stage from `first` on."""
        saved = needs.rotor.saved_bytes[first - 1 :]
        kept = np.cumsum(saved)
        peak = np.maximum.accumulate(kept - saved + needs.saving_bytes[first - 1 :])
        return Usage(kept, peak, np.zeros_like(kept))

    def plan(self, first: int, last: int) -> DevicePlan:
        """Return the plan of a device."""
        stages = range(first, last + 1)
        forward = tuple(ChainOperation(_ALL, number) for number in stages)
        backward = tuple(ChainOperation(_BACKWARD, number) for number in reversed(stages))
        return DevicePlan(first, last, forward, backward)


class EachAgain:
    """Way of Megatron-LM's full recomputation: the inputs of all stages are kept."""

    def usage(self, needs: PipelineNeeds, first: int) -> Usage:
        """Return the usage for every last stage from `first` on."""
        inputs = needs.rotor.input_bytes[first - 1 :].copy()
        inputs[0] = 0
        kept = np.cumsum(inputs)
        own = np.diagonal(needs.rotor.forward_all)[first - 1 :]
        passing = np.diagonal(needs.passing_bytes)[first - 1 :]
        peak = np.maximum.accumulate(kept + np.maximum(own, passing))
        times = [stage.forward_ns for stage in needs.chain.stages[first - 1 :]]
        return Usage(kept, peak, np.cumsum(np.array(times, dtype=np.int64)))

    def plan(self, first: int, last: int) -> DevicePlan:
        """Return the plan of a device."""
        stages = range(first, last + 1)
        forward = tuple(ChainOperation(_CHECKPOINT, number) for number in stages)
        backward = tuple(
            ChainOperation(kind, number)
            for number in reversed(stages)
            for kind in (_ALL, _BACKWARD)
        )
        return DevicePlan(first, last, forward, backward)


class AllAgain:
    """Way of GPipe: only the input of a device is kept, and all of its forward runs again."""

    def usage(self, needs: PipelineNeeds, first: int) -> Usage:
        """Return the usage for every last stage from `first` on."""
        saved = needs.rotor.saved_bytes[first - 1 :]
        before = np.cumsum(saved) - saved
        again = before[:, None] + needs.rotor.forward_all[first - 1 :, first - 1 :]
        # Entries with i > t have no meaning.
        again = np.where(np.tri(len(saved), dtype=bool).T, again, 0)
        peak = np.maximum(needs.passing_bytes[first - 1, first - 1 :], again.max(axis=0))
        times = [stage.forward_ns for stage in needs.chain.stages[first - 1 :]]
        return Usage(np.zeros_like(before), peak, np.cumsum(np.array(times, dtype=np.int64)))

    def plan(self, first: int, last: int) -> DevicePlan:
        """Return the plan of a device."""
        stages = range(first, last + 1)
        forward = tuple(
            ChainOperation(_CHECKPOINT if number == first else _NONE, number) for number in stages
        )
        again = (ChainOperation(_ALL, number) for number in stages)
        back = (ChainOperation(_BACKWARD, number) for number in reversed(stages))
        return DevicePlan(first, last, forward, (*again, *back))


def times_of(way: Way, needs: PipelineNeeds) -> NDArray[np.int64]:
    """Return the times of a micro-batch by device and stages, `NEVER_NS` where it does not fit."""
    count = len(needs.chain)
    busy = np.full_like(needs.room_bytes, NEVER_NS)
    for first in range(1, count + 1):
        used = way.usage(needs, first)
        for at in range(needs.problem.devices):
            others = (needs.problem.in_flight(at + 1) - 1) * used.kept_bytes
            fits = others + used.peak_bytes <= needs.room_bytes[at, first - 1, first - 1 :]
            times = needs.base_ns[at, first - 1, first - 1 :] + used.again_ns
            busy[at, first - 1, first - 1 :] = np.where(fits, times, NEVER_NS)
    return busy


def solve_keep_all(problem: PipelineChain, options: SolveOptions) -> Outcome:
    """Return the cuts of least bottleneck that fit with nothing computed again."""
    return _fixed(problem, options, KeepAll())


def solve_each_again(problem: PipelineChain, options: SolveOptions) -> Outcome:
    """Return the cuts of least bottleneck that fit with every stage computed again, alone."""
    return _fixed(problem, options, EachAgain())


def solve_all_again(problem: PipelineChain, options: SolveOptions) -> Outcome:
    """Return the cuts of least bottleneck that fit with all of a device computed again."""
    return _fixed(problem, options, AllAgain())


def _fixed(problem: PipelineChain, options: SolveOptions, way: Way) -> Outcome:
    del options
    needs = PipelineNeeds(problem, problem.instance)
    found = Cutting(problem, needs, times_of(way, needs)).least_bottleneck()
    if found is None:
        return Outcome(termination=Termination.COMPLETED, note="no cuts fit without other plans")
    plans = tuple(way.plan(first, last) for first, last in found[1])
    schedule = PipelineSchedule(plans)
    if not schedule.replay(problem).valid:
        # Gradients that are larger than outputs may need more than the formula says.
        return Outcome(termination=Termination.COMPLETED, note="the cuts of least bottleneck fail")
    return Outcome(termination=Termination.COMPLETED, schedule=schedule)


def solve_equal_stages(
    problem: PipelineChain, options: SolveOptions, params: PipelineParams = PIPELINE
) -> Outcome:
    """Give every device as many stages, the first ones one more; recompute what each must."""
    count, devices = len(problem.instance), problem.devices
    length, longer = divmod(count, devices)
    cuts = [at * length + min(at, longer) for at in range(1, devices)]
    return _optimal_within(problem, options, params, lambda _: tuple(spans_of(cuts, count)))


def solve_equal_time(
    problem: PipelineChain, options: SolveOptions, params: PipelineParams = PIPELINE
) -> Outcome:
    """Cut for the least bottleneck without recomputation; then recompute what each device must."""

    def cut(needs: PipelineNeeds) -> Spans | None:
        return _balanced(needs, needs.base_ns)

    return _optimal_within(problem, options, params, cut)


def solve_equal_memory(
    problem: PipelineChain, options: SolveOptions, params: PipelineParams = PIPELINE
) -> Outcome:
    """Cut for the least peak with everything kept; then recompute what each device must."""

    def cut(needs: PipelineNeeds) -> Spans | None:
        peaks = np.full_like(needs.base_ns, NEVER_NS)
        for first in range(1, len(needs.chain) + 1):
            used = KeepAll().usage(needs, first)
            for at in range(problem.devices):
                flying = problem.in_flight(at + 1)
                room = needs.room_bytes[at, first - 1, first - 1 :]
                held = problem.memory_bytes - room + used.peak_bytes
                peaks[at, first - 1, first - 1 :] = held + (flying - 1) * used.kept_bytes
        return _balanced(needs, peaks)

    return _optimal_within(problem, options, params, cut)


def _balanced(needs: PipelineNeeds, weights: NDArray[np.int64]) -> Spans | None:
    """Return the cuts whose largest weight is the least, where devices hold their weights."""
    allowed = np.where(needs.room_bytes >= 0, weights, NEVER_NS)
    found = Cutting(needs.problem, needs, allowed).least_bottleneck()
    return None if found is None else found[1]


def _optimal_within(
    problem: PipelineChain,
    options: SolveOptions,
    params: PipelineParams,
    cut: Callable[[PipelineNeeds], Spans | None],
) -> Outcome:
    """Return the best plan of each device with given cuts, on finer and finer grids."""
    search = PipelineSearch(problem, params, options.time_limit_s)
    spans = cut(search.needs)
    if spans is None:
        return Outcome(termination=Termination.COMPLETED, note="the weights do not fit")
    with Ending() as ending:
        search.offer_on_grids(spans)
    note = None if search.schedule else "these cuts do not fit"
    return Outcome(
        termination=ending.termination,
        schedule=search.schedule,
        note=note,
        work={"slots": search.slots},
    )
