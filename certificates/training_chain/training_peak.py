r"""Peak bound in exact integers: memory where :math:`B_N` starts, the link over the whole step.

The model of `formulations/training_chain/peak_bound.py`, whose docstring has every column and row,
and the proof that every schedule is a point. Sizes are bytes, times nanoseconds, and shares from 0
to 1; all columns are continuous, only :math:`T` costs, 1. Rows of the link are multiplied by
:math:`q`, or :math:`q'`. :math:`T` is at most

.. math:: \sum_l (2 f_l + b_l + u_l + h_l) + \lceil (3 W + G + 2 S + 2 A)\, q / p \rceil

with :math:`W, G, S, A` the sums of all weights, gradients, states, and :math:`\bar a^l`. It may be
cut off there: no row asks for more, if moves and shares are in their limits.

Version 1. No options.
"""

from __future__ import annotations

from ..header_fields import Fields, only_fields
from ..integer_model import IntegerModel
from ..stated_model import StatedModel
from .given_step import GivenStep

Terms = list[tuple[int, int]]


def training_peak(instance: Fields, resources: Fields, options: Fields) -> StatedModel:
    """Build the model, of linear size.

    Raises
    ------
    CertificateError
        If the instance, the memory or the link is not what the model needs, or there are options.
    """
    only_fields(options, set(), "the formulation")
    return StatedModel(_model(GivenStep.from_json(instance, resources)), "all schedules")


def _model(given: GivenStep) -> IntegerModel:
    model, stages, last = IntegerModel(), given.chain.stages, len(given.chain)
    saved = sum(stage.saved_bytes for stage in stages)
    time = model.add_column("T", 0, _longest_ns(given, saved), cost=1, is_integer=False)
    off = _share(model, "off", saved)
    # Terms of rows; what comes in and goes out is of positive sign.
    device: Terms = [(time, 1)]
    host: Terms = [(time, 1)]
    memory: Terms = [(off, -1)]
    brought: Terms = [(off, 1)]
    sent: Terms = [(off, 1)]
    least, trained = 0, set(given.trained)
    for number, stage in enumerate(stages, start=1):
        least += stage.forward_ns + stage.backward_ns
        if number < last:
            kept = _share(model, f"k_{number}")
            least += stage.forward_ns
            device.append((kept, stage.forward_ns))
            memory.append((kept, stage.saved_bytes))
        if number not in trained:
            continue
        weights, states = given.weights[number], given.states[number]
        host_ns = given.host_update_ns[number]
        on_host = _share(model, f"q_{number}", 0 if host_ns is None else 1)
        travels = _share(model, f"s_{number}")
        model.at_most(f"once_{number}", [on_host, travels], [1, 1], 1)
        least += given.update_ns[number]
        device.append((on_host, given.update_ns[number]))
        host.append((on_host, -(host_ns or 0)))
        brought += [(on_host, weights), (travels, states)]
        sent += [(on_host, given.gradients[number]), (travels, states)]
        memory += [(on_host, -states), (travels, -states)]
        if number == last:
            continue
        away, copied = _share(model, f"y_{number}"), _share(model, f"c_{number}")
        model.at_least(f"copy_{number}", [copied, away, on_host], [1, -1, 1], 0)
        brought.append((away, weights))
        sent.append((copied, weights))
        memory.append((away, -weights))
    model.at_least("device", *_parts(device), least)
    model.at_least("host", *_parts(host), 0)
    for name, moved, rate in (
        ("in", brought, given.link),
        ("out", sent, given.link),
        ("both", brought + sent, given.total),
    ):
        if rate is not None:
            terms = [(time, -rate[0]), *((column, rate[1] * size) for column, size in moved)]
            model.at_most(name, *_parts(terms), 0)
    resident = sum(given.weights) + sum(given.states) + given.chain.input_bytes
    room = given.memory_bytes - resident - given.backward_operands(last)
    model.at_most("memory", *_parts(memory), room)
    return model


def _share(model: IntegerModel, name: str, most: int = 1) -> int:
    return model.add_column(name, 0, most, is_integer=False)


def _parts(terms: Terms) -> tuple[list[int], list[int]]:
    return [column for column, _ in terms], [value for _, value in terms]


def _longest_ns(given: GivenStep, saved: int) -> int:
    durations = sum(2 * stage.forward_ns + stage.backward_ns for stage in given.chain.stages)
    durations += sum(given.update_ns) + sum(time for time in given.host_update_ns if time)
    moved = 3 * sum(given.weights) + sum(given.gradients) + 2 * sum(given.states) + 2 * saved
    return durations + given.transfer_ns(moved)
