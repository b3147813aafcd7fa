"""Rows of the cycle bound about activations: what exists, is made again, sent and brought."""

from __future__ import annotations

import math
from collections.abc import Callable
from enum import Enum

from jettison.formulations.milp.builder import ArrayModelBuilder
from jettison.formulations.training_chain.around import Around
from jettison.formulations.training_chain.training_scale import TrainingScale

Terms = list[tuple[int, float]]


class Existing(Enum):
    """Cuts that have columns of what exists: all, as in certificates, or those before operations.

    What exists when an operation starts and is used by it or later exists at its end too, so that
    (keeps) and (plain) are equations there. With one column for both the model is smaller, and its
    optimum is no less.
    """

    AT_ALL_CUTS = "at all cuts"
    AT_STARTS = "at starts of operations"


class ActivationRows:
    """Columns and rows about activations; their names are those of `cycle_bound`.

    Attributes
    ----------
    brought, sent
        For each element, the columns of what is brought and sent.
    """

    def __init__(
        self,
        builder: ArrayModelBuilder,
        scale: TrainingScale,
        around: Around,
        meanwhile: Callable[[], None],
        existing: Existing,
    ) -> None:
        self._existing = existing
        self._builder = builder
        self._scale = scale
        self._around = around
        chain = scale.problem.instance
        stages = range(1, len(chain) + 1)
        self._output = {i: scale.size(chain.stage(i).output_bytes) for i in stages}
        self._saved = {i: scale.size(chain.stage(i).saved_bytes) for i in stages}
        self.brought: list[list[int]] = [[] for _ in range(around.num_elements)]
        self.sent: list[list[int]] = [[] for _ in range(around.num_elements)]
        self._all = {i: builder.add_column(f"f_{i}", upper=1.0) for i in stages}
        self._sent_at_all = {
            i: builder.add_column(f"Y_{i}", upper=self._saved[i] + self._output[i]) for i in stages
        }
        # By (stage, cut) and by (gap, stage).
        self._kept: dict[tuple[int, int], int] = {}
        self._plain: dict[tuple[int, int], int] = {}
        self._again: dict[tuple[int, int], int] = {}
        self._again_all: dict[tuple[int, int], int] = {}
        self._on_device: dict[int, int] = {}
        self._on_host: dict[int, int] = {}
        self._so_far: dict[int, int] = {}
        for cut in range(around.num_elements):
            self._add_columns(cut)
        for cut in range(around.num_elements):
            meanwhile()
            self._add_existing(cut)
            self._add_sent(cut)
            if around.is_operation(cut):
                self._add_operation(cut)
            else:
                self._add_gap(cut)

    def _add_columns(self, cut: int) -> None:
        builder, around = self._builder, self._around
        number = around.stage_of(cut)
        below = math.fsum(self._saved[i] + self._output[i] for i in range(1, number))
        for i in range(1, number):
            if self._is_as_before(cut):
                self._kept[i, cut] = self._kept[i, cut - 1]
                self._plain[i, cut] = self._plain[i, cut - 1]
                continue
            self._kept[i, cut] = builder.add_column(f"k_{i}_{cut}", upper=1.0)
            self._plain[i, cut] = builder.add_column(f"p_{i}_{cut}", upper=1.0)
        if number > 1:
            self._on_device[cut] = builder.add_column(f"dev_{cut}", upper=below)
            self._on_host[cut] = builder.add_column(f"off_{cut}", upper=below)
        if cut == 0:
            return
        most = math.fsum(self._saved.values()) + math.fsum(self._output.values())
        self._so_far[cut] = builder.add_column(f"sent_{cut}", upper=most)
        self.brought[cut].append(builder.add_column(f"ua_{cut}", upper=most))
        self.sent[cut].append(builder.add_column(f"da_{cut}", upper=most))
        if not around.is_operation(cut):
            # Stages that may run again in a gap: those whose first forward operation has ended, and
            # whose backward operation has not.
            last = number - 1 if around.is_forward(cut) else number
            for i in range(1, last + 1):
                self._again[cut, i] = builder.add_column(f"R_{cut}_{i}", upper=1.0)
                self._again_all[cut, i] = builder.add_column(f"S_{cut}_{i}", upper=1.0)

    def _is_as_before(self, cut: int) -> bool:
        return self._existing is Existing.AT_STARTS and self._around.is_operation(cut)

    def _add_existing(self, cut: int) -> None:
        """Add (exists), (input) and (ready)."""
        builder, number = self._builder, self._around.stage_of(cut)
        if number == 1:
            return
        columns = [self._on_device[cut], self._on_host[cut]]
        sizes = [1.0, 1.0]
        for i in range(1, number):
            columns += [self._kept[i, cut], self._plain[i, cut]]
            sizes += [-self._saved[i], -self._output[i]]
        builder.add_row(f"exists_{cut}", columns, sizes, lower=0.0, upper=0.0)
        last = number - 1
        builder.add_row(
            f"input_{cut}", [self._kept[last, cut], self._plain[last, cut]], [1.0, 1.0], lower=1.0
        )
        builder.add_row(f"ready_{cut}", [self._on_device[cut]], [1.0], lower=self._output[last])

    def _add_sent(self, cut: int) -> None:
        """Add the rows (sent): so_far_c, sent_c, moved_c and ever_c."""
        builder, around = self._builder, self._around
        if cut == 0:
            return
        before = self._so_far.get(cut - 1)
        columns, signs = [self._so_far[cut], self.sent[cut][0]], [1.0, -1.0]
        if before is not None:
            columns, signs = [*columns, before], [*signs, -1.0]
        builder.add_row(f"so_far_{cut}", columns, signs, lower=0.0, upper=0.0)
        ended = [i for i in self._sent_at_all if around.forward(i) < cut]
        builder.add_row(
            f"sent_{cut}",
            [self._so_far[cut], *(self._sent_at_all[i] for i in ended)],
            [1.0, *[-1.0] * len(ended)],
            upper=0.0,
        )
        number = around.stage_of(cut)
        if number > 1:
            host = self._on_host[cut]
            builder.add_row(f"moved_{cut}", [host, self._so_far[cut]], [1.0, -1.0], upper=0.0)
            below = [self._sent_at_all[i] for i in range(1, number)]
            builder.add_row(f"ever_{cut}", [host, *below], [1.0, *[-1.0] * len(below)], upper=0.0)

    def _add_operation(self, cut: int) -> None:
        """Add (keeps), (plain) and (balance) of an operation, in which nothing is made again."""
        builder, number = self._builder, self._around.stage_of(cut)
        for i in range(1, 1 if self._is_as_before(cut) else number):
            for name, existing in (("keeps", self._kept), ("plain", self._plain)):
                pair = [existing[i, cut], existing[i, cut - 1]]
                builder.add_row(f"{name}_{i}_{cut}", pair, [1.0, -1.0], upper=0.0)
        if number > 1:
            columns = [self._on_device[cut], self._on_device[cut - 1], self.brought[cut][0]]
            builder.add_row(f"balance_{cut}", columns, [1.0, -1.0, -1.0], upper=0.0)

    def _add_gap(self, cut: int) -> None:
        """Add the rows of a gap, in which stages may run again."""
        if cut == 0:
            return
        builder, around = self._builder, self._around
        number = around.stage_of(cut)
        # The stage whose first forward operation has just ended, if one has.
        fresh = around.stage_of(cut - 1) if around.is_forward(cut - 1) else None
        runs = sorted(i for gap, i in self._again if gap == cut)
        for i in runs:
            again, again_all = self._again[cut, i], self._again_all[cut, i]
            if i > 1:
                read = [self._again[cut, i - 1], self._again_all[cut, i - 1]]
                read += [self._kept[i - 1, cut - 1], self._plain[i - 1, cut - 1]]
                for name, column in (("reads", again), ("reads_all", again_all)):
                    signs = [1.0, *[-1.0] * len(read)]
                    builder.add_row(f"{name}_{cut}_{i}", [column, *read], signs, upper=0.0)
            self._add_kept(cut, i, again, again_all, is_fresh=i == fresh)
        self._add_balance(cut, number, runs, fresh)

    def _add_kept(self, cut: int, i: int, again: int, again_all: int, *, is_fresh: bool) -> None:
        builder = self._builder
        if is_fresh:
            kept, plain, one = [(self._all[i], -1.0)], [(self._all[i], 1.0)], 1.0
        else:
            kept = [(self._kept[i, cut - 1], -1.0)]
            plain, one = [(self._plain[i, cut - 1], -1.0)], 0.0
        if (i, cut) not in self._kept:
            # The backward operation of this stage comes next.
            columns = [again_all, *(column for column, _ in kept)]
            builder.add_row(f"needs_{i}", columns, [1.0, 1.0], lower=1.0)
            return
        columns = [self._kept[i, cut], again_all, *(column for column, _ in kept)]
        signs = [1.0, -1.0, *(sign for _, sign in kept)]
        builder.add_row(f"keeps_{i}_{cut}", columns, signs, upper=0.0)
        columns = [self._plain[i, cut], again, *(column for column, _ in plain)]
        signs = [1.0, -1.0, *(sign for _, sign in plain)]
        builder.add_row(f"plain_{i}_{cut}", columns, signs, upper=one)

    def _add_balance(self, cut: int, number: int, runs: list[int], fresh: int | None) -> None:
        columns, signs, constant = [self.brought[cut][0]], [-1.0], 0.0
        for column, sign in ((self._on_device.get(cut), 1.0), (self._on_device.get(cut - 1), -1.0)):
            if column is not None:
                columns.append(column)
                signs.append(sign)
        for i in runs:
            columns += [self._again[cut, i], self._again_all[cut, i]]
            signs += [-self._output[i], -self._saved[i]]
        if fresh is not None:
            columns.append(self._all[fresh])
            signs.append(self._output[fresh] - self._saved[fresh])
            constant += self._output[fresh]
        if not self._around.is_forward(cut):
            constant -= self._saved[number]
        self._builder.add_row(f"balance_{cut}", columns, signs, upper=constant)

    def reruns(self, gap: int) -> Terms:
        """Return what runs again in a gap, with the time of each."""
        chain = self._scale.problem.instance
        return [
            (column, self._scale.time(chain.stage(i).forward_ns))
            for again in (self._again, self._again_all)
            for (element, i), column in again.items()
            if element == gap
        ]

    def on_device(self, cut: int) -> int:
        """Return the column of the activations of other stages on the device at a cut."""
        return self._on_device[cut]

    def saves_again(self, stage: int, cut: int) -> list[int]:
        """Return the columns of a stage's runs after a cut that save all."""
        return [
            column
            for (gap, number), column in self._again_all.items()
            if number == stage and gap > cut
        ]

    def operands(self, cut: int, number: int) -> tuple[float, Terms]:
        """Return the operands of the operation at a cut, and the activations beside them."""
        scale, chain = self._scale, self._scale.problem.instance
        stage = chain.stage(number)
        terms: Terms = [(self._on_device[cut], 1.0)] if cut in self._on_device else []
        if self._around.is_forward(cut):
            passing = self._output[number] + scale.size(stage.forward_overhead_bytes)
            saving = self._saved[number] + scale.size(stage.overhead_of_saving_bytes)
            terms.append((self._all[number], saving - passing))
            return passing, terms
        left = scale.size(chain.gradient_bytes(number - 1)) if number > 1 else 0.0
        made = scale.size(chain.backward_output_bytes(number))
        working = max(made + scale.size(stage.backward_overhead_bytes), left)
        gradient = scale.size(stage.gradient_of_weights_bytes) if stage.is_trained else 0.0
        return self._saved[number] + scale.size(stage.gradient_bytes) + working + gradient, terms
