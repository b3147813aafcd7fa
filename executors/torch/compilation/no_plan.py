"""Error where no plan of a joint graph was found, with the memory that plans need."""

from __future__ import annotations

from collections import Counter

from jettison.instances.core.errors import InputError
from jettison.instances.core.units import format_bytes
from jettison.instances.profilers.torch_graphs.joint.joint_graph import JointGraph
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


def no_plan_error(joint: JointGraph, limit_bytes: int, result: Result) -> NoPlanError:
    """Return the error for a joint graph, with a plan of small peak looked for.

    Parameters
    ----------
    joint
        The joint graph.
    limit_bytes
        The limit on everything that is counted.
    result
        The result without a schedule.
    """
    proof = result.infeasibility
    least = None if proof is None else proof.least_memory_bytes
    least = None if least is None else least + joint.reserve_bytes
    enough: int | None = _enough_bytes(joint)
    if enough is not None and enough <= limit_bytes:
        # Another search finds a plan for less, which this one would in more time.
        enough = None
    words = "" if proof is None else class_suffix(proof)
    error = NoPlanError(
        f"{result.method} found no schedule within {format_bytes(limit_bytes)}"
        f" ({limit_bytes} bytes) ({result.status})",
        field="memory",
        expected=_expected(least, enough, words),
    )
    error.least_bytes, error.enough_bytes, error.class_words = least, enough, words
    return error


def bytes_in_words(count: int) -> str:
    """Return a size in a unit that is read, and in bytes."""
    return f"{format_bytes(count)} ({count} bytes)"


def _expected(least: int | None, enough: int | None, words: str) -> str:
    if enough is not None and (least is None or least >= enough):
        return f"give more: {bytes_in_words(enough)} would do"
    if least is None:
        return "give more memory or time"
    needed = f"give more: {bytes_in_words(least)} are needed at least{words}"
    return needed if enough is None else f"{needed}, and {bytes_in_words(enough)} would do"


def _enough_bytes(joint: JointGraph) -> int:
    """Return the predicted peak of a plan that needs little."""
    graph = joint.graph
    found = least_peak_by_annealing(
        graph, 0, Clock(None), graph.least_peak_bound_bytes, most_moves=_MOVES
    )
    repeats = Counter(found.schedule.computations)
    states = joint.states_bytes(node for node, times in repeats.items() if times > 1)
    return found.peak_bytes + joint.reserve_bytes + states
