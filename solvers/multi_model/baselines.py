"""HFTA without saving of memory: as many models as fit are fused, one group after another.

Source: Wang et al. 2021 (HFTA), which fuses all models that fit; µ-TWO compares with it as
HFTA-NoMemOpt.
"""

from __future__ import annotations

from collections.abc import Collection

from jettison.instances.multi_model.problem import MultiModelTraining
from jettison.instances.multi_model.sub_array_key import Key, key_of, parts_of
from jettison.schedules.multi_model.schedule import MultiModelSchedule
from jettison.solvers.core.outcome import Outcome, SolveOptions
from jettison.solvers.core.status import Termination
from jettison.solvers.multi_model.decisions import Fate, UnitDecisions
from jettison.solvers.multi_model.executor.executed_units import UnitExecutor
from jettison.solvers.multi_model.least_memory import multi_model_infeasibility


def solve_hfta(problem: MultiModelTraining, options: SolveOptions) -> Outcome:
    """Train the largest sub-arrays that fit with every feature map kept, one after another.

    What is left of the models is one smaller sub-array, or several where there is no profile of
    its size. Of several architectures one follows after the other.

    Notes
    -----
    Time O(n s) for n models and s sizes, beside the execution of each size once.
    """
    refused = multi_model_infeasibility(problem)
    if refused is not None:
        return Outcome(termination=Termination.COMPLETED, infeasibility=refused)
    groups = hfta_groups(problem)
    if groups is None:
        return Outcome(
            termination=Termination.COMPLETED,
            note="no sub-arrays that add up to the models fit with every feature map kept",
        )
    units = {}
    for size in set(groups):
        executor = UnitExecutor(problem, (size,))
        tensors = len(executor.arrays[0].tensors)
        executed = executor.execute(UnitDecisions(((Fate.KEEP,) * tensors,)))
        assert executed is not None, "the peak with everything kept is within the memory"
        units[size] = executed.unit
    return Outcome(
        termination=Termination.COMPLETED,
        schedule=MultiModelSchedule(tuple(units[size] for size in groups)),
    )


def hfta_groups(problem: MultiModelTraining) -> list[Key] | None:
    """Return the groups that HFTA trains, each as large as fits; None if they do not add up.

    One architecture follows after the other.
    """
    found: list[Key] = []
    for place, count in enumerate(problem.counts):
        fitting = [
            models
            for architecture, models in map(parts_of, problem.keys)
            if architecture == place
            and problem.sub_array(key_of(place, models)).store_all_peak_bytes
            <= problem.memory_bytes
        ]
        groups = largest_first(count, fitting)
        if groups is None:
            return None
        found += [key_of(place, models) for models in groups]
    return found


def largest_first(models: int, sizes: Collection[int]) -> list[int] | None:
    """Divide models into groups, each as large as possible; None if the sizes do not add up."""
    reachable = {0}
    for total in range(1, models + 1):
        if any(total - size in reachable for size in sizes):
            reachable.add(total)
    if models not in reachable:
        return None
    groups = []
    while models:
        groups.append(max(size for size in sizes if models - size in reachable))
        models -= groups[-1]
    return groups
