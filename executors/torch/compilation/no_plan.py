"""Error where no plan of a joint graph was found, with the memory that plans need."""

from __future__ import annotations

from collections import Counter

from jettison.instances.core.errors import InputError
from jettison.instances.core.units import format_bytes
from jettison.instances.profilers.torch_graphs.joint.joint_graph import JointGraph
from jettison.schedules.remat_graph.schedule import GraphSchedule
from jettison.solvers.core.certified import class_suffix
from jettison.solvers.core.clock import Clock
from jettison.solvers.core.result import Result
from jettison.solvers.remat_graph.annealing.least_peak import least_peak_by_annealing

# Well below a second of one core; the same on every machine.
_MOVES = 300_000


class NoPlanError(InputError):
    """Error where no plan was found within a limit.

    Attributes
    ----------
    least_bytes
        Predicted peak below which there is no plan; None where nothing is proved.
    enough_bytes
        Predicted peak of a plan that is known; None where none is.
    class_words
        Words for the class of plans that `least_bytes` holds for.
    """

    least_bytes: int | None = None
    enough_bytes: int | None = None
    class_words: str = ""


def no_plan_error(
    joint: JointGraph, limit_bytes: int, result: Result, enough_bytes: int
) -> NoPlanError:
    """Return the error for a joint graph.

    Parameters
    ----------
    joint
        The joint graph.
    limit_bytes
        The limit on everything that is counted.
    result
        The result without a schedule.
    enough_bytes
        The predicted peak of a plan that needs little, above the limit.
    """
    proof = result.infeasibility
    least = None if proof is None else proof.least_memory_bytes
    least = None if least is None else least + joint.reserve_bytes
    words = "" if proof is None else class_suffix(proof)
    error = NoPlanError(
        f"{result.method} found no schedule within {format_bytes(limit_bytes)}"
        f" ({limit_bytes} bytes) ({result.status})",
        field="memory",
        expected=_expected(least, enough_bytes, words),
    )
    error.least_bytes, error.enough_bytes, error.class_words = least, enough_bytes, words
    return error


def bytes_in_words(count: int) -> str:
    """Return a size in a unit that is read, and in bytes."""
    return f"{format_bytes(count)} ({count} bytes)"


def least_schedule(joint: JointGraph) -> tuple[GraphSchedule, int]:
    """Return a schedule that needs little memory, and its predicted peak."""
    graph = joint.graph
    found = least_peak_by_annealing(
        graph, 0, Clock(None), graph.least_peak_bound_bytes, most_moves=_MOVES
    )
    repeats = Counter(found.schedule.computations)
    states = joint.states_bytes(node for node, times in repeats.items() if times > 1)
    return found.schedule, found.peak_bytes + joint.reserve_bytes + states


def _expected(least: int | None, enough: int, words: str) -> str:
    if least is None or least >= enough:
        return f"give more: {bytes_in_words(enough)} would do"
    return (
        f"give more: {bytes_in_words(least)} are needed at least{words}, and"
        f" {bytes_in_words(enough)} would do"
    )
