r"""Peak bound: the cycle bound with memory at one cut and the link over the whole step, in O(N).

For chains whose cycle bound would be too large. The one cut is the start of :math:`B_N`, where most
of a step's activations exist; everything else is summed around the cycle.

Columns
-------
====================== =========================================================================
:math:`T`, ``T``       time of a step
:math:`q_l`, ``q_l``   part of the update of l that the host does
:math:`s_l`, ``s_l``   part of it that the device does with states that are brought and sent back
:math:`y_l`, ``y_l``   part of the weights that is away at the cut, :math:`l < N`
:math:`c_l`, ``c_l``   part of the weights that is sent to the host after an update of the device
:math:`k_l`, ``k_l``   part of :math:`\bar a^l` that exists at the cut and that :math:`B_l` reads
:math:`o`, ``off``     activations that exist at the cut on the host only, and are used later
====================== =========================================================================

Model
-----
.. math::
    \text{(objective)} \quad & \min T \\
    \text{device} \quad & T \ge \textstyle\sum_l u_f^l + u_b^l + u_l (1 - q_l)
        + \sum_{l < N} u_f^l (1 - k_l) \\
    \text{host} \quad & T \ge \textstyle\sum_l u^h_l q_l \\
    \text{once} \quad & q_l + s_l \le 1 \\
    \text{copy} \quad & c_l \ge y_l - q_l \\
    \text{in} \quad & \beta T \ge \textstyle\sum_l w_l (q_l + y_l) + \sigma_l s_l + o \\
    \text{out} \quad & \beta T \ge \textstyle\sum_l g_l q_l + w_l c_l + \sigma_l s_l + o \\
    \text{both} \quad & \tau T \ge \text{the sum of what comes in and goes out} \\
    \text{memory} \quad & \text{operands} + w_N + \textstyle\sum_{l < N} w_l (1 - y_l) +
        \sum_l \sigma_l (1 - q_l - s_l) + \sum_{l < N} \bar a^l k_l - o \le M

with :math:`\sigma` the optimizer's states and the operands of :math:`B_N` as in the cycle bound,
its input apart. Where the link is not shared, (both) is left out.

Every schedule is a point
-------------------------
Take a schedule whose period is a step of time T; those of several steps are covered by the mean of
the columns. Put the columns to what it does: 1 or 0 for whole tensors, the part of the bytes
otherwise. Before :math:`B_N` all updates of the step before are over, and no gradient of a weight
exists but that of :math:`B_N`. (device) A part of :math:`\bar a^l` that does not exist at the cut,
and that :math:`B_l` reads later, is made by another run of :math:`F_l` after the cut: it costs
:math:`u_f^l`, whatever the part is; the first runs are before the cut. Where the host does not
update, the device does. (in) Weights that the host updated come up once for :math:`F_l`; those that
are away at the cut come up again for :math:`B_l`, after the cut, so that these are two transfers;
states that move come for the update; activations that are on the host only at the cut, and are used
later, come after it. (out) Gradients go down for the host, states go back, what is on the host
only at the cut was sent; weights that are away at the cut have a copy there, which the host's
update has made or a transfer after that of the device, one in each step.
(memory) At the cut no weights are missing but those away, none of :math:`l = N`; states of an
update of the device that do not move are there all the time, and the device has all bytes of
activations that are used later and are not on the host only. Outputs by themselves, what comes
early and leaves late only add to this.
"""

from __future__ import annotations

from jettison.formulations.milp.builder import ArrayModelBuilder
from jettison.formulations.training_chain.cycle_bound import CycleBoundModel
from jettison.formulations.training_chain.training_scale import TrainingScale
from jettison.instances.training_chain.problem import TrainingChain

# Terms of a row: columns with their coefficients.
Terms = list[tuple[int, float]]


def build_peak_bound(problem: TrainingChain) -> CycleBoundModel:
    """Build the model: O(N) columns, rows and terms for N stages."""
    scale = TrainingScale.of(problem)
    builder = ArrayModelBuilder("peak_bound")
    chain = problem.instance
    last = len(chain)
    time = builder.add_column("T", cost=1.0)
    total = sum(scale.size(stage.saved_bytes) for stage in chain)
    off = builder.add_column("off", upper=total)
    device: Terms = [(time, 1.0)]
    host: Terms = [(time, 1.0)]
    brought: Terms = [(off, 1.0)]
    sent: Terms = [(off, 1.0)]
    memory: Terms = [(off, -1.0)]
    least, constant = 0.0, scale.size(chain.input_bytes)
    for number, stage in enumerate(chain, start=1):
        weights = scale.size(stage.weight_bytes)
        states = scale.size(stage.optimizer_state_bytes)
        update, forward = scale.time(stage.update_ns), scale.time(stage.forward_ns)
        least += forward + scale.time(stage.backward_ns)
        if number < last:
            kept = builder.add_column(f"k_{number}", upper=1.0)
            least += forward
            device.append((kept, forward))
            memory.append((kept, scale.size(stage.saved_bytes)))
        if not stage.is_trained:
            continue
        able = stage.host_can_update
        on_host = builder.add_column(f"q_{number}", upper=1.0 if able else 0.0)
        moved = builder.add_column(f"s_{number}", upper=1.0)
        builder.add_row(f"once_{number}", [on_host, moved], [1.0, 1.0], upper=1.0)
        least += update
        device.append((on_host, update))
        host.append((on_host, -scale.time(stage.host_update_ns or 0)))
        brought += [(on_host, weights), (moved, states)]
        sent += [(on_host, scale.size(stage.gradient_of_weights_bytes)), (moved, states)]
        memory += [(on_host, -states), (moved, -states)]
        constant += weights + states
        if number < last:
            away = builder.add_column(f"y_{number}", upper=1.0)
            copied = builder.add_column(f"c_{number}", upper=1.0)
            builder.add_row(f"copy_{number}", [copied, away, on_host], [1.0, -1.0, 1.0], lower=0.0)
            brought.append((away, weights))
            sent.append((copied, weights))
            memory.append((away, -weights))
    constant += _operands(scale)
    _add(builder, "device", device, lower=least)
    _add(builder, "host", host, lower=0.0)
    _add(builder, "in", [*brought, (time, -scale.rate)], upper=0.0)
    _add(builder, "out", [*sent, (time, -scale.rate)], upper=0.0)
    if problem.link.is_shared:
        _add(builder, "both", [*brought, *sent, (time, -scale.total_rate)], upper=0.0)
    _add(builder, "memory", memory, upper=scale.memory - constant)
    return CycleBoundModel(scale, builder.build())


def _operands(scale: TrainingScale) -> float:
    """Return the operands of :math:`B_N` without its weights and its input."""
    chain = scale.problem.instance
    last = len(chain)
    stage = chain.stage(last)
    left = scale.size(chain.gradient_bytes(last - 1)) if last > 1 else 0.0
    made = scale.size(chain.backward_output_bytes(last))
    working = max(made + scale.size(stage.backward_overhead_bytes), left)
    gradient = scale.size(stage.gradient_of_weights_bytes) if stage.is_trained else 0.0
    return scale.size(stage.saved_bytes) + scale.size(stage.gradient_bytes) + working + gradient


def _add(
    builder: ArrayModelBuilder,
    name: str,
    terms: Terms,
    lower: float | None = None,
    upper: float | None = None,
) -> None:
    """Add a row, terms of the same column together."""
    together: dict[int, float] = {}
    for column, factor in terms:
        together[column] = together.get(column, 0.0) + factor
    limits = {
        key: value for key, value in (("lower", lower), ("upper", upper)) if value is not None
    }
    builder.add_row(name, list(together), list(together.values()), **limits)
