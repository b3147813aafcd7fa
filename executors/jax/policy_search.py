"""Search for a policy whose compiled step keeps to a limit of XLA's temporary memory."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import product

import jax

from jettison.instances.core.errors import InputError
from jettison.instances.core.link import Link
from jettison.instances.core.provenance import Provenance
from jettison.jax.compiled_memory import CompiledMemory, Options, compiled_memory
from jettison.jax.kernel_costs import KernelCosts
from jettison.jax.named_program import LoopBodies, NamedProgram, Policy
from jettison.jax.policy_plan import PolicyPlan, offload_class
from jettison.jax.result_buffers import temporary_peak_bytes
from jettison.jax.step_graph import StepGraph, build_step_graph
from jettison.jax.step_trace import Differentiation, StepTrace, struct_of
from jettison.schedules.remat_graph.lazy_schedule import lazy_computations
from jettison.schedules.remat_graph.saved_set import measure_saved_set
from jettison.solvers.core.clock import Clock
from jettison.solvers.remat_graph.saved_sets.offload_search import (
    BestOffloadedSet,
    OffloadedSetSearch,
)
from jettison.solvers.remat_graph.saved_sets.search import (
    SAVED_SETS,
    BestSavedSet,
    SavedSetParams,
    SavedSetSearch,
)

# The limit of the model falls by this much at least, and rises by no less.
_FALL, _RISE = 0.98, 1.02


@dataclass(frozen=True, slots=True)
class Chosen:
    """Choice of what is saved and offloaded, with time and peak of its replay."""

    saved: frozenset[int]
    offloaded: frozenset[int]
    time_ns: int
    peak_bytes: int

    @classmethod
    def of_saved(cls, found: BestSavedSet) -> Chosen:
        """Return the choice of a saved set."""
        return cls(found.saved, frozenset(), found.replay.time_ns, found.replay.peak_bytes)

    @classmethod
    def of_offloads(cls, found: BestOffloadedSet) -> Chosen:
        """Return the choice of an offloaded set."""
        plan, replay = found.plan, found.replay
        return cls(plan.saved, plan.offloaded, replay.time_ns, replay.peak_bytes)


@dataclass(eq=False)
class PolicySearch:
    """Search for a policy of one loss.

    The model knows kernels, and XLA fuses, reorders and shares buffers in its own way. So each plan
    is compiled. Where XLA's figure differs from the predicted peak, the limit of the model moves by
    as much, and a plan is made again: with less where XLA needs more than the limit, and with more
    where there is room. What XLA puts into the buffers of results is predicted before anything is
    compiled (`jettison.jax.result_buffers`), and what the prediction lacked for one plan is in that
    for the next. Within a part (`jettison.jax.named_program`) XLA computes again in an order
    of its own. So every *separator* is saved at first, a value that alone is read behind some
    place, between which the parts are as short as they can be; if no such plan keeps to the limit,
    all of this is done once more without.

    With a link, values may move to the host too (`jettison.schedules.remat_graph.offloaded_set`).
    XLA for CPUs counts them like all others, so that such a plan is not compiled there, and the
    replay alone says that it fits.

    Attributes
    ----------
    named
        The program of the loss.
    differentiation
        What gets a gradient.
    costs
        Durations of kernels.
    name
        Name of the graph.
    options
        Options of the compiler.
    params
        Parameters of the search for saved sets.
    link
        The link to the host, to which values move; None to keep all of them on the device.
    """

    named: NamedProgram
    differentiation: Differentiation
    costs: KernelCosts
    name: str
    options: Options
    params: SavedSetParams = SAVED_SETS
    link: Link | None = None
    _graphs: dict[LoopBodies, StepGraph] = field(default_factory=dict)

    def graph(self, loops: LoopBodies) -> StepGraph:
        """Return the graph of the step, where loops do what is said."""
        if loops not in self._graphs:
            self._graphs[loops] = build_step_graph(
                self.named,
                StepTrace.of(self.named, self.differentiation, loops),
                self.costs.duration_ns,
                name=self.name,
                provenance=self.costs.provenance(),
            )
        return self._graphs[loops]

    def planned_bytes(self, loops: LoopBodies, saved: Sequence[str]) -> int:
        """Return the predicted temporary memory of XLA for the step of a plan.

        The step is traced as it will be compiled: what is computed again stands in it, and what
        waits behind a barrier.
        """
        trace = StepTrace.of(self.named, self.differentiation, loops, saved)
        step = build_step_graph(
            self.named,
            trace,
            lambda kernel, size_bytes: 0,
            name=self.name,
            provenance=Provenance(),
        )
        return temporary_peak_bytes(step.graph, range(len(step.graph)), step.results)

    def measure(
        self,
        policy: Policy | None,
        saved: Iterable[str] | None = None,
        loops: LoopBodies = LoopBodies.SAVED,
    ) -> CompiledMemory:
        """Return XLA's analysis of the step under a policy; None is the plain step.

        Parameters
        ----------
        policy
            The policy.
        saved
            Names that it saves, between which the program falls into parts; None for one part.
        loops
            What loops do.
        """
        names, parts = self.named.chosen(saved or ())
        program = self.named.program
        avals = program.avals
        arguments = [struct_of(avals[value]) for value in program.arguments]
        results = [program.results[place] for place in self.differentiation.results]
        cotangents = [
            struct_of(avals[value] if isinstance(value, int) else value.aval) for value in results
        ]
        return compiled_memory(
            lambda given: self.named.run(
                given,
                policy=policy,
                named=names,
                loops=loops,
                parts=None if saved is None else parts,
            ),
            self.differentiation,
            arguments,
            cotangents,
            self.options,
        )

    def plan(
        self,
        limit_bytes: int,
        plain_bytes: int,
        *,
        loops: Sequence[LoopBodies],
        compilations: int,
        time_limit_s: float | None,
        announce: Callable[[PolicyPlan], None] = lambda plan: None,
    ) -> PolicyPlan:
        """Return the fastest plan, by the model, whose compiled step keeps to the limit.

        Parameters
        ----------
        limit_bytes
            Limit of XLA's temporary memory.
        plain_bytes
            XLA's temporary memory of the plain step.
        loops
            What loops may do.
        compilations
            Plans that are compiled at most, for each choice for loops.
        time_limit_s
            Seconds after which no other plan is begun; None for no limit.
        announce
            Is told each plan that was compiled.

        Raises
        ------
        InputError
            If no plan keeps to the limit; with the least that one took.
        """
        if plain_bytes <= limit_bytes:
            return self._plain(limit_bytes, plain_bytes)
        clock = Clock(time_limit_s)
        best: PolicyPlan | None = None
        least_bytes = plain_bytes
        for separated, choice in product((True, False), loops):
            if best is not None and not separated:
                break
            limit = limit_bytes
            tried: set[Chosen] = set()
            # What XLA needed besides the prediction, for the plan before.
            excess_bytes = 0
            for _ in range(compilations):
                if tried and clock.left_s <= 0:
                    break
                found = self._best_set(choice, limit, clock, separated)
                if found in tried:
                    break
                tried.add(found)
                always = self._separators(choice) if separated else frozenset()
                plan = self._compiled(
                    choice, found, always, limit, limit_bytes, plain_bytes, excess_bytes
                )
                excess_bytes += plan.compiled_bytes - plan.predicted_temporary_bytes
                announce(plan)
                if plan.holds is None:
                    # XLA's figure counts the host, and so the replay alone says what fits.
                    least_bytes = min(least_bytes, plan.predicted_peak_bytes)
                    if plan.predicted_peak_bytes <= limit_bytes and (
                        best is None or plan.predicted_time_ns < best.predicted_time_ns
                    ):
                        best = plan
                    break
                least_bytes = min(least_bytes, plan.compiled_bytes)
                if plan.holds and (best is None or plan.predicted_time_ns < best.predicted_time_ns):
                    best = plan
                moved = plan.predicted_peak_bytes + limit_bytes - plan.compiled_bytes
                if not plan.holds:
                    limit = max(0, min(moved, int(_FALL * min(limit, plan.predicted_peak_bytes))))
                elif plan.overhead > 0 and moved > _RISE * limit:
                    limit = moved
                else:
                    break
        if best is None:
            raise InputError(
                f"no policy was found whose compiled step takes at most {limit_bytes} bytes of "
                "XLA's temporary memory",
                field="memory",
                expected=f"give {least_bytes} bytes or more; the plain step takes {plain_bytes}",
            )
        return self._with_bound(best, clock)

    def _with_bound(self, plan: PolicyPlan, clock: Clock) -> PolicyPlan:
        """Return a plan with a bound for all saved sets within the limit that was asked for.

        The models on the way force separators to be saved and have limits of their own. So one more
        is solved, without that, for its bound alone.
        """
        step = self.graph(plan.loops)
        limit_bytes = max(plan.limit_bytes, plan.predicted_peak_bytes)
        known = step.position_of_name
        saved = frozenset(known[name] for name in plan.saved)
        left_s = max(1.0, clock.left_s)
        if self.link is not None:
            offloaded = frozenset(known[name] for name in plan.offloaded)
            moving = self._offloads(step, limit_bytes, step.entering)
            moving.run([(saved, offloaded)], left_s)
            bound_ns = min(moving.bound_ns, plan.predicted_time_ns)
        else:
            search = SavedSetSearch(
                step.graph,
                limit_bytes,
                step.names,
                step.entering,
                replace(self.params, measured=1),
            )
            found = search.run([saved], left_s)
            # The set of the plan is among those that fit.
            assert found is not None
            bound_ns = found.bound_ns
        return replace(plan, bound_limit_bytes=limit_bytes, bound_ns=bound_ns)

    def _offloads(
        self, step: StepGraph, limit_bytes: int, never: frozenset[int]
    ) -> OffloadedSetSearch:
        """Return a search for offloaded sets; what enters a loop stays on the device."""
        assert self.link is not None
        return OffloadedSetSearch(
            step.graph,
            limit_bytes,
            self.link,
            step.names,
            never_again=never,
            never_moved=step.entering,
            saved=self.params,
        )

    def _plain(self, limit_bytes: int, plain_bytes: int) -> PolicyPlan:
        """Return the plan that leaves the step as it is; by the model, one that saves all."""
        step = self.graph(LoopBodies.SAVED)
        run = measure_saved_set(step.graph, lazy_computations(step.graph, frozenset()))
        return PolicyPlan(
            program_sha256=self.named.program.sha256,
            graph_sha256=step.graph.sha256,
            saved=(),
            is_plain=True,
            model_limit_bytes=max(limit_bytes, run.peak_bytes),
            predicted_peak_bytes=run.peak_bytes,
            predicted_time_ns=run.time_ns,
            base_time_ns=run.time_ns,
            bound_limit_bytes=max(limit_bytes, run.peak_bytes),
            bound_ns=run.time_ns,
            limit_bytes=limit_bytes,
            predicted_temporary_bytes=step.temporary_bytes(range(step.num_forward)),
            compiled_bytes=plain_bytes,
            plain_compiled_bytes=plain_bytes,
            platform=jax.default_backend(),
        )

    def _separators(self, loops: LoopBodies) -> frozenset[int]:
        """Return the nodes of the separators."""
        known = self.graph(loops).position_of_name
        names = (self.named.names[value] for value in self.named.separators)
        return frozenset(known[name] for name in names if name in known)

    def _best_set(
        self, loops: LoopBodies, limit_bytes: int, clock: Clock, separated: bool
    ) -> Chosen:
        """Return the best sets within a limit of the model, or those of least memory."""
        step = self.graph(loops)
        never = step.entering | (self._separators(loops) if separated else frozenset())
        products = {
            place
            for place, kernel in enumerate(step.kernels)
            if place in step.names
            and kernel.root.primitive in {"dot_general", "conv_general_dilated"}
        }
        left = max(1.0, clock.left_s)
        if self.link is not None:
            moving = self._offloads(step, limit_bytes, never)
            offloaded = moving.run([(frozenset(products) | never, frozenset())], left)
            if offloaded is not None:
                return Chosen.of_offloads(offloaded)
        search = SavedSetSearch(step.graph, limit_bytes, step.names, never, self.params)
        found = search.run([products], left)
        if found is not None:
            return Chosen.of_saved(found)
        # The set that was found to need least: XLA may need less for it than the model does.
        again = SavedSetSearch(step.graph, search.least_peak_bytes, step.names, never, self.params)
        least = again.run([products, search.least_set], left)
        assert least is not None
        return Chosen.of_saved(least)

    def _compiled(
        self,
        loops: LoopBodies,
        found: Chosen,
        always: frozenset[int],
        model_limit_bytes: int,
        limit_bytes: int,
        plain_bytes: int,
        excess_bytes: int,
    ) -> PolicyPlan:
        step = self.graph(loops)
        places = (found.saved | always) - found.offloaded
        saved = step.names_of(places)
        temporary_bytes = found.peak_bytes if found.offloaded else self.planned_bytes(loops, saved)
        plan = PolicyPlan(
            program_sha256=self.named.program.sha256,
            graph_sha256=step.graph.sha256,
            saved=saved,
            offloaded=step.names_of(found.offloaded),
            loops=loops,
            model_limit_bytes=max(model_limit_bytes, found.peak_bytes),
            predicted_peak_bytes=found.peak_bytes,
            predicted_time_ns=found.time_ns,
            base_time_ns=step.graph.base_time_ns,
            bound_limit_bytes=found.peak_bytes,
            bound_ns=step.graph.base_time_ns,
            limit_bytes=limit_bytes,
            predicted_temporary_bytes=max(0, temporary_bytes + excess_bytes),
        )
        if self.link is not None:
            plan = replace(plan, valid_for=offload_class(self.link))
            if jax.default_backend() == "cpu" and plan.offloaded:
                return replace(
                    plan, plain_compiled_bytes=plain_bytes, platform=jax.default_backend()
                )
        memory = self.measure(plan.policy(), plan.saved, loops)
        return plan.compiled(
            compiled_bytes=memory.temporary_bytes,
            plain_bytes=plain_bytes,
            platform=jax.default_backend(),
        )
