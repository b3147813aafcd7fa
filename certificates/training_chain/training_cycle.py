r"""Cycle bound in exact integers: a linear program around the cycle of a training step.

The model of `formulations/training_chain/cycle_bound.py`, whose docstring has every column and row,
and the proof that every schedule is a point. Sizes are bytes, times nanoseconds, and shares from 0
to 1; all columns are continuous, only :math:`D_e` costs, 1. Rows of the link are multiplied by
:math:`q`, or :math:`q'`. Lengths of operations are columns of one value. Other :math:`D_e` are at
most

.. math:: \sum_l (2 f_l + b_l + u_l + h_l) + 4 +
    \lceil (7 W + 2 G + 2 S + 2 A)\, q / p \rceil

with :math:`W, G, S, A` the sums of all weights, gradients, states, and :math:`\bar a^l + a^l`. They
may be cut off there: no row asks for more of one of them, if moves and shares are in their limits.

Version 1. No options.
"""

from __future__ import annotations

from collections.abc import Iterable

from ..errors import CertificateError
from ..header_fields import Fields, only_fields
from ..integer_model import IntegerModel
from ..stated_model import StatedModel
from .activations import Activations
from .around import Around
from .given_step import GivenStep
from .peak_rows import add_peak_rows
from .updates import Updates

_MOST_STAGES = 200

Terms = list[tuple[int, int]]


def training_cycle(instance: Fields, resources: Fields, options: Fields) -> StatedModel:
    """Build the model, of quadratic size.

    Raises
    ------
    CertificateError
        If the instance, the memory or the link is not what the model needs, the chain is too long,
        or there are options.
    """
    only_fields(options, set(), "the formulation")
    given = GivenStep.from_json(instance, resources)
    if len(given.chain) > _MOST_STAGES:
        raise CertificateError(f"{len(given.chain)} stages; at most {_MOST_STAGES} are checked")
    return StatedModel(_Writer(given).model, "all schedules")


class _Writer:
    """Adds columns and rows: updates, activations, lengths, the link, the memory, its peak."""

    def __init__(self, given: GivenStep) -> None:
        self.given = given
        self.around = Around(len(given.chain))
        self.model = IntegerModel()
        longest = _longest_ns(given)
        self.lengths: list[int] = []
        for e in self.around.elements:
            least, most = 0, longest
            if self.around.is_operation(e):
                stage = given.chain.stages[self.around.stage_of(e) - 1]
                is_forward = self.around.is_forward(e)
                least = most = stage.forward_ns if is_forward else stage.backward_ns
            column = self.model.add_column(f"D_{e}", least, most, cost=1, is_integer=False)
            self.lengths.append(column)
        self.updates = Updates(self.model, given, self.around, self.lengths)
        self.activations = Activations(self.model, given, self.around)
        self._add_lengths()
        self._add_link()
        self._add_memory()
        add_peak_rows(self.model, given, self.around, self.activations)

    def _add_lengths(self) -> None:
        for e in self.around.gaps:
            used = self.activations.reruns(e) + self.updates.on_device(e)
            terms = [(self.lengths[e], 1), *((column, -time) for column, time in used)]
            self.model.at_least(f"length_{e}", *_parts(terms), 0)

    def _add_link(self) -> None:
        for e in self.around.elements:
            brought = self.updates.brought[e] + self.activations.brought[e]
            sent = self.updates.sent[e] + self.activations.sent[e]
            for name, moved, rate in (
                ("in", brought, self.given.link),
                ("out", sent, self.given.link),
                ("both", brought + sent, self.given.total),
            ):
                if moved and rate is not None:
                    terms = [(self.lengths[e], -rate[0]), *((column, rate[1]) for column in moved)]
                    self.model.at_most(f"{name}_{e}", *_parts(terms), 0)

    def _add_memory(self) -> None:
        resident = sum(self.given.weights) + self.given.chain.input_bytes
        for e in self.around.elements:
            operands, terms = self.activations.operands(e)
            terms = terms + self.updates.present(e)
            room = self.given.memory_bytes - resident - operands
            self.model.at_most(f"memory_{e}", *_parts(terms), room)


def _parts(terms: Iterable[tuple[int, int]]) -> tuple[list[int], list[int]]:
    given = list(terms)
    return [column for column, _ in given], [value for _, value in given]


def _longest_ns(given: GivenStep) -> int:
    stages = given.chain.stages
    durations = sum(2 * stage.forward_ns + stage.backward_ns for stage in stages)
    durations += sum(given.update_ns) + sum(time for time in given.host_update_ns if time)
    activations = sum(stage.saved_bytes + stage.output_bytes for stage in stages)
    moved = 7 * sum(given.weights) + 2 * sum(given.gradients) + 2 * sum(given.states)
    return durations + 4 + given.transfer_ns(moved + 2 * activations)
