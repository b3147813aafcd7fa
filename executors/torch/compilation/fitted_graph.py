"""Compiled graph of a training call that is made to fit: planned, run, measured, planned again.

What a compiler makes of a plan has another peak than the plan: fused operators leave no values in
memory, others are moved, and kernels have memory of their own. The first training call is therefore
run on the side, and its peak measured. Where the compiler generates code, that says how much is in
memory while each value is made, and the next plan knows it, operator by operator
(`measured_workspaces`). What the measured peak still has above that of the plan is *hidden*, and
the next plan is made for the limit without it. So a plan that exceeds the limit is replaced by one
for less, and one that had less hidden than was thought by one for more. Where nothing is hidden the
first plan is the last. The fastest plan whose measured peak is within the limit is the one that
stays.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import torch
from torch import Tensor, fx

from jettison.instances.core.card import Card, Resident
from jettison.instances.core.errors import InputError
from jettison.instances.core.memory import Amount, Memory, Share, parse_memory
from jettison.instances.profilers.torch_graphs.storages import storage_bytes
from jettison.torch.compilation.code_memory import CodeMemory
from jettison.torch.compilation.memory_proof import MemoryProof
from jettison.torch.compilation.no_plan import NoPlanError, bytes_in_words
from jettison.torch.compilation.partitioner import EVERYTHING, Partitioner
from jettison.torch.compilation.plan_form import PlanForm
from jettison.torch.compilation.step_memory import CompiledGraph, measured_peak_bytes
from jettison.torch.compilation.step_report import Attempt, StepReport

# Returns what runs the graph, and the memory of the code that was generated, where one is known.
Compiler = Callable[
    [fx.GraphModule, Sequence[Any], Partitioner | None], tuple[CompiledGraph, CodeMemory | None]
]
PartitionerMaker = Callable[[Memory, Mapping[str, int], PlanForm], Partitioner]


@dataclass(frozen=True, slots=True, kw_only=True)
class Fitting:
    """Way in which a graph is made to fit.

    Attributes
    ----------
    most_plans
        How many plans are tried at most, beside that without recomputation; where none of them
        fits and plans have other forms, two thirds as many of each of these.
    unused
        Share of the limit by which a plan with recomputation may have been made for less than was
        there, as its measured peak tells, before another one is tried.
    """

    most_plans: int = 6
    unused: Fraction = Fraction(1, 20)

    @property
    def most_others(self) -> int:
        """The most plans of another form that are tried."""
        return self.most_plans * 2 // 3


class FittedGraph:
    """Callable of one graph, compiled when it is first called.

    Parameters
    ----------
    module
        The graph, as a backend of ``torch.compile`` gets it.
    memory
        The limit.
    compiler
        Compiles a graph with a partitioner.
    partitioner
        Makes a partitioner for a limit, with workspaces of operators as they were measured, for
        plans of a form.
    forms
        Forms of plans, in the order in which they are tried.
    fitting
        How often to try.
    report
        Filled in when the graph is compiled.
    """

    def __init__(
        self,
        module: fx.GraphModule,
        memory: Memory,
        compiler: Compiler,
        partitioner: PartitionerMaker,
        forms: Sequence[PlanForm],
        fitting: Fitting,
        report: StepReport,
    ) -> None:
        self._module = module
        self._memory = memory
        self._compiler = compiler
        self._partitioner = partitioner
        self._forms = forms
        self._form = forms[0]
        self._fitting = fitting
        self._report = report
        self._workspaces_bytes: Mapping[str, int] = {}
        self._proof: MemoryProof | None = None
        self._has_convolutions = False
        self._compiled: CompiledGraph | None = None

    def __call__(self, *arguments: Any) -> Any:
        """Run the graph; the first time, find the plan that fits."""
        if self._compiled is None:
            self._compiled = self._fit(arguments)
        return self._compiled(*arguments)

    def _fit(self, arguments: Sequence[Any]) -> CompiledGraph:
        report, memory = self._report, self._memory
        # Kernels have memory of their own: how much less a plan says than is measured.
        hidden = 0
        if isinstance(memory, Share):
            compiled, everything = self._attempt(EVERYTHING, arguments)
            report.reference_peak_bytes = everything.measured_peak_bytes
            peak = everything.plan.predicted_peak_bytes
            if everything.measured_peak_bytes is not None:
                hidden = max(0, everything.measured_peak_bytes - peak)
                peak = everything.measured_peak_bytes
            report.limit_bytes = int(memory.of_peak * peak)
            if peak <= report.limit_bytes:
                return self._choose(compiled, everything)
        elif isinstance(memory, Card):
            report.limit_bytes = memory.on(_resident(arguments)).limit_bytes
        else:
            assert isinstance(memory, Amount)
            report.limit_bytes = memory.size_bytes
        return self._search(arguments, hidden)

    def _search(self, arguments: Sequence[Any], hidden: int) -> CompiledGraph:
        """Return the fastest plan that fits of the first form of which any does."""
        known = self._workspaces_bytes
        found, refused = self._search_form(arguments, hidden, self._fitting.most_plans)
        for form in self._forms[1:]:
            if found is not None or self._is_impossible:
                break
            if form.keeps_layouts and not self._has_convolutions:
                continue
            # Other code has other workspaces.
            self._form, self._workspaces_bytes = form, known
            found, _ = self._search_form(arguments, hidden, self._fitting.most_others)
        if found is None:
            raise self._no_fit(self._report.limit_bytes, refused)
        return self._choose(*found)

    @property
    def _is_impossible(self) -> bool:
        """Whether it is proved, or no plan was so much as compiled."""
        proved = 0 if self._proof is None else self._proof.least_bytes
        return self._report.limit_bytes < proved or not self._report.has_code

    def _search_form(
        self, arguments: Sequence[Any], hidden: int, most_plans: int
    ) -> tuple[tuple[CompiledGraph, Attempt] | None, InputError | None]:
        """Return the fastest plan that fits, and the last refusal of a limit."""
        limit = self._report.limit_bytes
        least_step = int(limit * self._fitting.unused)
        best: tuple[CompiledGraph, Attempt] | None = None
        # Limits of plans that fit, and that do not, as the operators are known at present.
        low, high = 0, None
        planned = max(0, limit - hidden)
        refused: InputError | None = None
        is_least_tried = False
        # The least measured peak, and the limit that its plan was made for.
        least: tuple[int, int] | None = None
        for _ in range(most_plans):
            known = self._workspaces_bytes
            try:
                compiled, attempt = self._attempt(Amount(max(0, planned)), arguments)
            except Exception as error:
                refused = input_error(error)
                if refused is None:
                    raise
                low = planned
                enough = refused.enough_bytes if isinstance(refused, NoPlanError) else None
                if enough is not None and low < enough and not is_least_tried:
                    # The least plan that is known: less may be hidden in it.
                    is_least_tried = True
                    if enough <= limit or self._report.has_code:
                        planned = enough
                        continue
                if high is None or high - low <= least_step:
                    break
                planned = (low + high) // 2
                continue
            peak = attempt.measured_peak_bytes
            if peak is None:
                return (compiled, attempt), None
            if least is not None and peak > max(limit, least[0]):
                # It needs more than one that was made for more: the compiler undoes this one.
                self._workspaces_bytes = known
                low = max(low, min(planned, least[1]))
                high = max(planned, least[1])
                if high - low <= least_step:
                    break
                planned = (low + high) // 2
                continue
            least = (peak, planned)
            if _tells_more(self._workspaces_bytes, known, least_step):
                low, high, is_least_tried = 0, None, False
            if peak <= limit:
                if best is None or attempt.plan.time_ns < best[1].plan.time_ns:
                    best = compiled, attempt
                low = max(low, planned)
            else:
                high = planned
            step = max(0, limit - attempt.hidden_bytes)
            if peak <= limit and (
                step - planned <= least_step or attempt.plan.time_ns == attempt.plan.base_time_ns
            ):
                break
            if (high is not None and step >= high) or step <= low:
                if high is None or high - low <= least_step:
                    break
                step = (low + high) // 2
            planned = step
        return best, refused

    def _attempt(self, memory: Memory, arguments: Sequence[Any]) -> tuple[CompiledGraph, Attempt]:
        partitioner = self._partitioner(memory, self._workspaces_bytes, self._form)
        compiled, code = self._compiler(_twin(self._module), arguments, partitioner)
        # A card holds what the allocator reserves.
        peak = measured_peak_bytes(compiled, arguments, reserved=isinstance(self._memory, Card))
        plan = partitioner.plans[-1]
        if code is None:
            attempt = Attempt(plan, peak, form=self._form)
        else:
            self._proof = partitioner.proof(code) if self._proof is None else self._proof
            self._has_convolutions = partitioner.has_convolutions
            found = partitioner.measured(code)
            self._workspaces_bytes = found.workspaces_bytes
            attempt = Attempt(plan, peak, code.peak_bytes, found.peak_bytes, self._form)
        self._report.attempts.append(attempt)
        return compiled, attempt

    def _choose(self, compiled: CompiledGraph, attempt: Attempt) -> CompiledGraph:
        self._report.chosen = attempt
        return compiled

    def _no_fit(self, limit: int, refused: InputError | None) -> InputError:
        measured = [
            item.measured_peak_bytes
            for item in self._report.attempts
            if item.measured_peak_bytes is not None
        ]
        if not measured and refused is not None:
            return refused
        least = min(measured)
        expected = f"give at least {bytes_in_words(least)}, the least that {_plans(measured)} met"
        if self._proof is not None:
            proved = self._proof.least_bytes
            expected += (
                f"; less than {bytes_in_words(proved)} is impossible for any plan, as"
                f" {self._proof.needed_by} needs it"
            )
            if proved < limit:
                expected += ", and nothing is proved between the two"
        elif isinstance(refused, NoPlanError) and refused.least_bytes is not None:
            expected += (
                f"; no plan{refused.class_words} is predicted to need less than"
                f" {bytes_in_words(refused.least_bytes)}"
            )
        return InputError(
            f"no compiled step was found whose measured peak is within {bytes_in_words(limit)}",
            field="memory",
            expected=expected,
        )


def _plans(measured: Sequence[int]) -> str:
    return "the one compiled plan" if len(measured) == 1 else f"{len(measured)} compiled plans"


def _resident(arguments: Sequence[Any]) -> Resident:
    """Return what a graph is given: parameters, buffers and inputs, which no plan counts."""
    given = (item for item in arguments if isinstance(item, Tensor))
    return Resident.recorded(sum(storage_bytes(given).values()))


def _tells_more(found: Mapping[str, int], known: Mapping[str, int], least_bytes: int) -> bool:
    """Whether workspaces are others than they were taken for, by more than the smallest step."""
    return any(abs(size - known.get(name, 0)) > least_bytes for name, size in found.items())


def _twin(module: fx.GraphModule) -> fx.GraphModule:
    """Return a module with a graph of its own: compilers change what they are given."""
    twin = fx.GraphModule(module, copy.deepcopy(module.graph))
    twin.meta = dict(module.meta)
    return twin


def input_error(error: BaseException) -> InputError | None:
    """Return the error about the input that a compiler has wrapped, or None."""
    seen: set[int] = set()
    found: BaseException | None = error
    while found is not None and id(found) not in seen:
        if isinstance(found, InputError):
            return found
        seen.add(id(found))
        found = found.__cause__ or getattr(found, "inner_exception", None) or found.__context__
    return None


def trains(arguments: Sequence[Any]) -> bool:
    """Whether a call with these arguments is followed by a backward pass."""
    return torch.is_grad_enabled() and any(
        isinstance(item, Tensor) and item.requires_grad for item in arguments
    )


def as_limit(memory: str | int | Memory) -> Memory:
    """Read a limit on memory.

    Raises
    ------
    InputError
        If it is neither an amount nor a share nor a card.
    """
    # What is resident on a card is known when the graph is called.
    limit = memory if isinstance(memory, Card) else parse_memory(memory)
    if not isinstance(limit, Amount | Share | Card):
        raise InputError(
            f"{limit}",
            field="memory",
            expected="write an amount (8GiB), a share of the peak without recomputation (60%), or "
            "a card (card=96GiB:resident=3GiB)",
        )
    return limit
