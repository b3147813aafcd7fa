r"""Interleaved 1F1B: cuts into chunks with a plan for each that fits, and a bound on such steps.

For each number of chunks :math:`v` from 2 on: the bound of `chunk_bound`, whose shortest paths are
cuts to begin with beside those of equal stages and equal time; then one cut is moved at a time, as
long as it helps, first by an estimate of the step and then by its timeline. What the chunks of a
device keep is planned together (`chunk_budgets`). It is a heuristic with a bound: the device of one
chunk is that of others too, so that no program over the cuts alone is exact.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np

from jettison.instances.pipeline_chain.problem import PipelineChain
from jettison.instances.remat_chain.smaller_gradients import (
    has_larger_gradients,
    with_smaller_gradients,
)
from jettison.schedules.pipeline_chain.phase_timeline import PhaseTimes, run_phases
from jettison.schedules.pipeline_chain.schedule import DevicePlan, PipelineSchedule, spans_of
from jettison.solvers.pipeline_chain.chunk_bound import ChunkBound, ChunkBounds
from jettison.solvers.pipeline_chain.chunk_budgets import Budgeted, DeviceBudgets
from jettison.solvers.pipeline_chain.chunk_times import ChunkTimes
from jettison.solvers.pipeline_chain.cutting import Spans
from jettison.solvers.pipeline_chain.device_times import PipelineNeeds
from jettison.solvers.pipeline_chain.pipeline_params import PipelineParams


class ChunkSearch:
    """Search for the fastest step with a number of chunks.

    Parameters
    ----------
    problem, chunks
        The problem, and the parts of each device, 2 or more.
    params
        What the search may take.

    Attributes
    ----------
    step_ns, schedule
        The fastest step so far; None if there is none.
    """

    def __init__(self, problem: PipelineChain, chunks: int, params: PipelineParams) -> None:
        self.problem, self._chunks, self._params = problem, chunks, params
        self._count = len(problem.instance)
        self._parts = problem.devices * chunks
        self._needs = PipelineNeeds(problem, problem.instance)
        self.step_ns: int | None = None
        self.schedule: PipelineSchedule | None = None
        chain = problem.instance
        before = np.cumsum([0, *(stage.forward_ns for stage in chain)])
        self._forward_ns = [int(time) for time in before]
        longest = min(
            self._count - self._parts + 1, params.chunk_lengths * -(-self._count // self._parts) + 1
        )
        self._longest = longest
        self._budgets = self._budgets_on(params.chunk_slots)

    def _budgets_on(self, slots: int) -> DeviceBudgets:
        times = self._table(self._needs, self._longest, slots, rounds_up=True)
        return DeviceBudgets(self.problem, self._chunks, times)

    def _table(
        self, needs: PipelineNeeds, longest: int, slots: int, *, rounds_up: bool
    ) -> ChunkTimes:
        # The parts that end with a stage are computed together.
        slots = max(4, min(slots, int((self._params.most_chunk_entries // longest) ** 0.5)))
        useful = self._useful_bytes(longest)
        # A slot of a byte or less rounds nothing.
        return ChunkTimes(needs, longest, min(slots, useful), useful, rounds_up=rounds_up)

    def _useful_bytes(self, longest: int) -> int:
        """Return a memory in which no part of so many stages computes anything again."""
        chain = self.problem.instance
        saved = np.cumsum([0, *(stage.saved_bytes for stage in chain)])
        kept = int((saved[longest:] - saved[: len(saved) - longest]).max())
        needs = self._needs
        beside = int(needs.saving_bytes.max()) + int(needs.rotor.forward_all.max())
        return max(1, min(self.problem.memory_bytes, kept + beside))

    def bound(self, upper_ns: int | None, rounds: int) -> ChunkBound:
        """Return the bound on persistent schedules with so many chunks.

        Parameters
        ----------
        upper_ns
            A step that is known. Parts that take as long by themselves are left out, so that the
            bound is not above it.
        rounds
            Rounds of subgradients.
        """
        chain = self.problem.instance
        smaller = has_larger_gradients(chain)
        needs = (
            PipelineNeeds(self.problem, with_smaller_gradients(chain)) if smaller else self._needs
        )
        most = self._count - self._parts + 1
        longest = most if upper_ns is None else min(most, self._longest_within(upper_ns))
        times = self._table(needs, longest, self._params.chunk_bound_slots, rounds_up=False)
        found = ChunkBounds(needs, self._chunks, times).best(upper_ns, rounds)
        if longest == most or upper_ns is None:
            return found
        return ChunkBound(
            upper_ns if found.time_ns is None else min(found.time_ns, upper_ns), found.paths
        )

    def _longest_within(self, step_ns: int) -> int:
        """Return the most stages of a part with which a step could take less than a time."""
        times = np.cumsum(
            [0, *(stage.forward_ns + stage.backward_ns for stage in self.problem.instance)]
        )
        return max(
            int(np.searchsorted(times, times[first] + -(-step_ns // self.problem.microbatches)))
            - first
            for first in range(self._count)
        )

    def search(self, starts: tuple[Spans, ...]) -> None:
        """Search from cuts, and from those of equal stages and of equal time."""
        begun: dict[Spans, tuple[int, int]] = {}
        plain = (self._equal_stages(), self._equal_time())
        for spans in (*starts[: self._params.chunk_starts], *plain):
            estimate = self._estimate(spans)
            if estimate is not None:
                begun[spans] = estimate
        for spans in sorted(begun, key=begun.__getitem__)[: self._params.chunk_climbs]:
            self._refine(self._climb(spans, begun[spans]))

    def _refine(self, spans: Spans) -> None:
        """Move one cut at a time as long as the timeline becomes shorter."""
        tried = {spans}
        self._offer(spans)
        improved = True
        while improved:
            improved = False
            for moved in _moved(spans):
                if moved in tried:
                    continue
                estimate = self._estimate(moved)
                if estimate is None or (self.step_ns is not None and estimate[0] >= self.step_ns):
                    continue
                if len(tried) > self._params.chunk_timelines:
                    return
                tried.add(moved)
                if self._offer(moved):
                    spans, improved = moved, True
                    break

    def _climb(self, spans: Spans, estimate: tuple[int, int]) -> Spans:
        """Move one cut at a time as long as the estimate falls."""
        improved = True
        while improved:
            improved = False
            for moved in _moved(spans):
                other = self._estimate(moved)
                if other is not None and other < estimate:
                    spans, estimate, improved = moved, other, True
                    break
        return spans

    def _of_device(self, spans: Spans, device: int) -> Spans:
        return spans[device - 1 :: self.problem.devices]

    def _budgeted(self, spans: Spans) -> list[Budgeted] | None:
        found = []
        for device in range(1, self.problem.devices + 1):
            own = self._budgets.best(device, self._of_device(spans, device))
            if own is None:
                return None
            found.append(own)
        return found

    def _phase_times(self, spans: Spans) -> list[PhaseTimes] | None:
        budgeted = self._budgeted(spans)
        if budgeted is None:
            return None
        devices, problem = self.problem.devices, self.problem
        times = []
        for at, (first, last) in enumerate(spans):
            whole = budgeted[at % devices].times_ns[at // devices]
            forward = self._forward_ns[last] - self._forward_ns[first - 1]
            times.append(
                PhaseTimes(
                    forward,
                    whole - forward,
                    problem.send_forward_ns(at + 1, last, len(spans)),
                    problem.send_backward_ns(at + 1, first),
                )
            )
        return times

    def _estimate(self, spans: Spans) -> tuple[int, int] | None:
        """Return a bound on the step with cuts and their budgets, and all times together."""
        times = self._phase_times(spans)
        if times is None:
            return None
        busy = [time.busy_ns for time in times]
        devices, before, step = self.problem.devices, 0, 0
        for device in range(devices):
            step = max(step, before + self.problem.microbatches * sum(busy[device::devices]))
            before += busy[device]
        return step, sum(busy)

    def _offer(self, spans: Spans) -> bool:
        """Keep cuts if their step is faster; tell whether it is."""
        times = self._phase_times(spans)
        if times is None:
            return False
        ran = run_phases(times, self.problem.devices, self.problem.microbatches)
        step_ns = max(phase.sent_ns for phases in ran for phase in phases)
        if self.step_ns is not None and step_ns >= self.step_ns:
            return False
        schedule = self._planned(spans)
        # Gradients that are larger than outputs may need more than the program says.
        if not schedule.replay(self.problem).valid:
            return False
        self.step_ns, self.schedule = step_ns, schedule
        return True

    def _planned(self, spans: Spans) -> PipelineSchedule:
        devices = self.problem.devices
        plans: list[DevicePlan | None] = [None] * len(spans)
        for device in range(1, devices + 1):
            own = self._budgets.plans(device, self._of_device(spans, device))
            if own is not None:
                plans[device - 1 :: devices] = own
        return PipelineSchedule(tuple(plan for plan in plans if plan is not None), self._chunks)

    def _equal_stages(self) -> Spans:
        length, longer = divmod(self._count, self._parts)
        cuts = [at * length + min(at, longer) for at in range(1, self._parts)]
        return tuple(spans_of(cuts, self._count))

    def _equal_time(self) -> Spans:
        times = np.cumsum([stage.forward_ns + stage.backward_ns for stage in self.problem.instance])
        cuts: list[int] = []
        for at in range(1, self._parts):
            cut = int(np.searchsorted(times, int(times[-1]) * at // self._parts)) + 1
            least = cuts[-1] + 1 if cuts else 1
            cuts.append(min(max(cut, least), self._count - (self._parts - at)))
        return tuple(spans_of(cuts, self._count))


def _moved(spans: Spans) -> Iterator[Spans]:
    """Yield the spans with one cut, or two neighbours, a stage to the left or to the right."""
    cuts = [last for _, last in spans[:-1]]
    count = spans[-1][1]
    for width in (1, 2):
        for at in range(len(cuts) - width + 1):
            for by in (-1, 1):
                moved = list(cuts)
                for k in range(at, at + width):
                    moved[k] += by
                if all(before < end for before, end in pairwise([0, *moved, count])):
                    yield tuple(spans_of(moved, count))
