r"""L2L: only the weights of the running layer stay; each operation waits for its weights.

Before :math:`F_i` its weights are prefetched, and deleted after it. Before :math:`B_i` they are
prefetched again, while those of :math:`B_{i+1}`, which it has changed, are uploaded; :math:`B_i`
waits for both. Where both do not fit beside the activations, the upload comes first. After
:math:`B_1` its weights are uploaded and stay for :math:`F_1`. So the step takes

.. math::
    \sum_k u_k + \sum_i \frac{|w_i|}{\beta} + \frac{|w_L|}{\beta}
        + \sum_{i < L} \max\Bigl(\frac{|w_i|}{\beta}, \frac{|w_{i+1}|}{\beta}\Bigr) ,

if both transfers fit at once everywhere. That is :math:`\sum_k u_k + 2 \sum_i |w_i| / \beta`, the
number in Table 1 of the paper, where no layer is larger than the one before it. It fits wherever
any schedule does.

Source: Pudipeddi et al. 2020, arXiv:2002.05645, as the paper on weight offloading compares with it.
"""

from __future__ import annotations

from jettison.instances.weight_offload.problem import WeightOffload
from jettison.schedules.weight_offload.cyclic_event import CyclicEvent, CyclicEventKind
from jettison.schedules.weight_offload.cyclic_schedule import CyclicSchedule
from jettison.solvers.core.outcome import Outcome, SolveOptions
from jettison.solvers.core.status import Termination
from jettison.solvers.weight_offload.bounds.closed_form import closed_form_bound
from jettison.solvers.weight_offload.least_memory import weight_infeasibility


class _Timeline:
    """Events of the schedule so far, and the present time."""

    def __init__(self, problem: WeightOffload) -> None:
        self._problem = problem
        self.now_ns = 0
        self.events: list[CyclicEvent] = []

    def compute(self, index: int) -> None:
        operation = self._problem.cycle.operations[index]
        kind = CyclicEventKind.BACKWARD if operation.is_backward else CyclicEventKind.FORWARD
        self.start(kind, operation.layer)
        self.now_ns += operation.duration_ns

    def start(self, kind: CyclicEventKind, layer: int) -> None:
        """Add an event that starts now."""
        self.events.append(CyclicEvent(kind, layer, self.now_ns))

    def wait_for(self, *layers: int) -> None:
        """Wait as long as the longest transfer of these layers' weights takes."""
        # One transfer has the whole link, and two together what each of them always has.
        link = self._problem.link
        if len(layers) > 1:
            link = link.always_available
        self.now_ns += max(
            link.transfer_ns(self._problem.cycle.weight_bytes[layer - 1]) for layer in layers
        )


def layer_to_layer(problem: WeightOffload) -> CyclicSchedule:
    """Return the schedule of L2L, which fits if the problem has a schedule at all; O(L)."""
    cycle = problem.cycle
    layers = cycle.num_layers
    line = _Timeline(problem)
    # The period starts with a prefetch of the last layer's weights, which were deleted after F_L.
    for layer in range(layers, 0, -1):
        index = cycle.backward_index(layer)
        if layer < layers:
            changed = layer + 1
            resting_bytes = cycle.operations[index - 1].resting_bytes
            both_bytes = cycle.weight_bytes[layer - 1] + cycle.weight_bytes[changed - 1]
            line.start(CyclicEventKind.UPLOAD, changed)
            if resting_bytes + both_bytes > problem.memory_bytes:
                line.wait_for(changed)
                line.start(CyclicEventKind.DELETE, changed)
                line.start(CyclicEventKind.PREFETCH, layer)
                line.wait_for(layer)
            else:
                line.start(CyclicEventKind.PREFETCH, layer)
                line.wait_for(layer, changed)
                line.start(CyclicEventKind.DELETE, changed)
        else:
            line.start(CyclicEventKind.PREFETCH, layer)
            line.wait_for(layer)
        line.compute(index)
    line.start(CyclicEventKind.UPLOAD, 1)
    line.wait_for(1)
    for layer in range(1, layers + 1):
        if layer > 1:
            line.start(CyclicEventKind.PREFETCH, layer)
            line.wait_for(layer)
        line.compute(cycle.forward_index(layer))
        line.start(CyclicEventKind.DELETE, layer)
    return CyclicSchedule(line.now_ns, tuple(line.events))


def solve_layer_to_layer(problem: WeightOffload, options: SolveOptions) -> Outcome:
    """Return the schedule of L2L, or, where it does not fit, the proof that none does."""
    refused = weight_infeasibility(problem)
    if refused is not None:
        return Outcome(termination=Termination.COMPLETED, infeasibility=refused)
    return Outcome(
        termination=Termination.COMPLETED,
        schedule=layer_to_layer(problem),
        bounds=(closed_form_bound(problem),),
    )
