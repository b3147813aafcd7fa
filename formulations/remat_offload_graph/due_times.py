"""Time that is left after a value has been brought back in the last window of `FirstStarts`."""

from __future__ import annotations

import math

from jettison.formulations.remat_offload_graph.passed_moments import PassedMoments


def due_times_ns(moments: PassedMoments) -> list[int]:
    """Return for each value the time that always follows its first return in the last window.

    That is :math:`b_i` of `first_starts`: for a value that a node reads which has not been computed
    at the last moment, the most that follows the start of such a node; for another one the least
    that follows the start of a node that may read it. It is no more than always follows the moment.
    """
    order = moments.order
    graph = order.graph
    missing = moments.still_to_run[moments.windows[-1]]
    known = moments.run_before[moments.windows[-1]]
    found = [0] * len(graph)
    most_ns = sum(graph.nodes[i].duration_ns for i in missing)
    # The least time after a repeated computation has ended whose value is read or kept.
    after_ns: list[float] = [0.0] * len(graph)
    for i in range(len(graph) - 1, -1, -1):
        users = graph.users[i]
        least: float = math.inf
        for user in users:
            again_ns = graph.nodes[user].duration_ns + after_ns[user]
            again_ns = math.inf if user in missing else again_ns
            first_ns = math.inf if user in known else order.tail_ns[user]
            least = min(least, again_ns, first_ns)
        after_ns[i] = 0 if graph.nodes[i].keep else least
        first = [order.tail_ns[user] for user in users if user in missing]
        if first:
            found[i] = min(max(first), most_ns)
        elif not math.isinf(after_ns[i]):
            found[i] = min(int(after_ns[i]), most_ns)
    return found
