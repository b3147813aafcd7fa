r"""Lower bound for weight offloading in closed form: a knapsack cover over the link's time.

When an operation of layer :math:`l` starts, weights of :math:`E` bytes have to be absent
(`WeightCycle.excess_bytes`), and whole layers are: a layer whose transfer has begun, or is not
over, takes its full size. At :math:`l = L` the layers :math:`i < L` can be absent, between
:math:`F_i` and :math:`B_i`; at :math:`l = 1` the layers :math:`i > 1`, between :math:`B_i` and
:math:`F_i`. Each of these absences ends with a prefetch of its own, and one direction of the link
carries all prefetches of a period one after the other:

.. math::
    T \ge \max\Bigl(\sum_k u_k,\; \frac{\kappa_L + \kappa_1}{\beta}\Bigr), \qquad
    \kappa_l = \min\Bigl\{ \sum_{i \in S} |w_i| \;:\; S \not\ni l,\;
        \sum_{i \in S} |w_i| \ge \max(E_{F_l}, E_{B_l}) \Bigr\} .

With equal layers it is the closed form :math:`(n_1 + n_0) |w| / \beta`,
:math:`n = \lceil E / |w| \rceil`, of identical layers. The minimum is a knapsack cover, solved over
all sums of sizes, as the bits of one integer; where these are too many, :math:`E` rounded up to a
multiple of the greatest common divisor takes its place. Any other operation proves
:math:`T \ge E_k / \beta` alone.

On a link whose directions share a total :math:`\tau` the uploads count as well: what is absent
after its backward or its forward has been uploaded since the last backward changed it, once a
period, so that at least :math:`\kappa_L`, at least :math:`\kappa_1` and at least each :math:`E_k`
goes to the host:

.. math::
    T \ge \frac{1}{\tau} \bigl(\max(\kappa_L + \kappa_1, \max_k E_k)
        + \max(\kappa_L, \kappa_1, \max_k E_k)\bigr) .

With :math:`\tau = 2 \beta` this is no more than the bound above.

Time :math:`O(L \sum_i |w_i| / (64 g))` with the greatest common divisor :math:`g` of the sizes.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from jettison.instances.weight_offload.problem import WeightOffload
from jettison.schedules.core.schedule_class import ScheduleClass
from jettison.solvers.core.bound import Bound, Evidence
from jettison.solvers.core.outcome import Outcome, SolveOptions
from jettison.solvers.core.params import Params
from jettison.solvers.core.status import Termination
from jettison.solvers.weight_offload.least_memory import weight_infeasibility


@dataclass(frozen=True, kw_only=True)
class ClosedFormParams(Params):
    """Parameters of closed-form.

    Attributes
    ----------
    most_sums
        Sums of sizes up to which the knapsack is solved: the bits of one integer.
    """

    most_sums: int = 2**23


CLOSED_FORM = ClosedFormParams()


def bound_weight_closed_form(
    problem: WeightOffload, options: SolveOptions, params: ClosedFormParams = CLOSED_FORM
) -> Outcome:
    """Bound the time by the prefetches that each period needs, or prove that nothing fits."""
    refused = weight_infeasibility(problem)
    if refused is not None:
        return Outcome(termination=Termination.COMPLETED, infeasibility=refused)
    return Outcome(termination=Termination.COMPLETED, bounds=(closed_form_bound(problem, params),))


def closed_form_bound(problem: WeightOffload, params: ClosedFormParams = CLOSED_FORM) -> Bound:
    """Return the closed-form bound with its class and evidence, for a problem with a schedule."""
    return Bound(
        time_ns=closed_form_ns(problem, params),
        valid_for=ScheduleClass.ALL,
        evidence=Evidence.EXACT,
        method="closed-form",
    )


def closed_form_ns(problem: WeightOffload, params: ClosedFormParams = CLOSED_FORM) -> int:
    """Return the closed-form bound in nanoseconds, for a problem that has a schedule."""
    cycle = problem.cycle
    excess_bytes = cycle.excess_bytes(problem.memory_bytes)
    ends_bytes = []
    for layer, others in (
        (cycle.num_layers, cycle.weight_bytes[:-1]),
        (1, cycle.weight_bytes[1:]),
    ):
        needed_bytes = max(
            excess_bytes[cycle.backward_index(layer)], excess_bytes[cycle.forward_index(layer)]
        )
        ends_bytes.append(least_sum(others, needed_bytes, params.most_sums))
    back_bytes = max(0, sum(ends_bytes), *excess_bytes)
    both_bytes = back_bytes + max(*ends_bytes, *excess_bytes)
    link = problem.link
    return max(
        problem.instance.base_time_ns, link.transfer_ns(back_bytes), link.both_ways_ns(both_bytes)
    )


def least_sum(sizes: Sequence[int], at_least: int, most_sums: int) -> int:
    """Return the least sum of some of the sizes that reaches `at_least`, or a lower bound.

    The latter where there are more sums than `most_sums`, and where all sizes together are less.
    """
    if at_least <= 0:
        return 0
    unit = math.gcd(*sizes) or 1
    units = -(-at_least // unit)
    if not units <= sum(sizes) // unit <= most_sums:
        return units * unit
    sums = 1
    for size in sizes:
        sums |= sums << (size // unit)
    reached = sums >> units
    return (units + (reached & -reached).bit_length() - 1) * unit
