"""Rows of the cycle bound about activations: what exists, is made again, sent and brought."""

from __future__ import annotations

from collections.abc import Iterable

from ..integer_model import IntegerModel
from .around import Around
from .given_step import GivenStep

Terms = list[tuple[int, int]]


class Activations:
    """Columns and rows about activations.

    Attributes
    ----------
    brought, sent
        Columns of what is brought and sent in each element.
    """

    def __init__(self, model: IntegerModel, given: GivenStep, around: Around) -> None:
        self.model, self.given, self.around = model, given, around
        stages = given.chain.stages
        self.a = [0, *(stage.output_bytes for stage in stages)]
        self.s = [0, *(stage.saved_bytes for stage in stages)]
        self.numbers = range(1, len(stages) + 1)
        self.brought: list[list[int]] = [[] for _ in around.elements]
        self.sent: list[list[int]] = [[] for _ in around.elements]
        self.f = {i: self._column(f"f_{i}", 1) for i in self.numbers}
        self.Y = {i: self._column(f"Y_{i}", self.s[i] + self.a[i]) for i in self.numbers}
        # By stage and cut, or by gap and stage; others by cut.
        self.k: dict[tuple[int, int], int] = {}
        self.p: dict[tuple[int, int], int] = {}
        self.R: dict[tuple[int, int], int] = {}
        self.S: dict[tuple[int, int], int] = {}
        self.dev: dict[int, int] = {}
        self.off: dict[int, int] = {}
        self.so_far: dict[int, int] = {}
        for e in around.elements:
            self._add_columns(e)
        for e in around.elements:
            self._add_existing(e)
            self._add_sent(e)
            if around.is_operation(e):
                self._add_operation(e)
            elif e:
                self._add_gap(e)

    def _column(self, name: str, most: int) -> int:
        return self.model.add_column(name, 0, most, is_integer=False)

    def _at_most(self, name: str, terms: Iterable[tuple[int, int]], right: int = 0) -> None:
        given = list(terms)
        self.model.at_most(name, [j for j, _ in given], [value for _, value in given], right)

    def _add_columns(self, e: int) -> None:
        l, all_of_it = self.around.stage_of(e), sum(self.s) + sum(self.a)  # noqa: E741
        for i in range(1, l):
            self.k[i, e] = self._column(f"k_{i}_{e}", 1)
            self.p[i, e] = self._column(f"p_{i}_{e}", 1)
        if l > 1:
            below = sum(self.s[:l]) + sum(self.a[:l])
            self.dev[e] = self._column(f"dev_{e}", below)
            self.off[e] = self._column(f"off_{e}", below)
        if e == 0:
            return
        self.so_far[e] = self._column(f"sent_{e}", all_of_it)
        self.brought[e].append(self._column(f"ua_{e}", all_of_it))
        self.sent[e].append(self._column(f"da_{e}", all_of_it))
        if not self.around.is_operation(e):
            last = l - 1 if self.around.is_forward(e) else l
            for i in range(1, last + 1):
                self.R[e, i] = self._column(f"R_{e}_{i}", 1)
                self.S[e, i] = self._column(f"S_{e}_{i}", 1)

    def _add_existing(self, e: int) -> None:
        l = self.around.stage_of(e)  # noqa: E741
        if l == 1:
            return
        columns, values = [self.dev[e], self.off[e]], [1, 1]
        for i in range(1, l):
            columns += [self.k[i, e], self.p[i, e]]
            values += [-self.s[i], -self.a[i]]
        self.model.equal(f"exists_{e}", columns, values, 0)
        self.model.at_least(f"input_{e}", [self.k[l - 1, e], self.p[l - 1, e]], [1, 1], 1)
        self.model.at_least(f"ready_{e}", [self.dev[e]], [1], self.a[l - 1])

    def _add_sent(self, e: int) -> None:
        if e == 0:
            return
        columns, values = [self.so_far[e], self.sent[e][0]], [1, -1]
        if e > 1:
            columns, values = [*columns, self.so_far[e - 1]], [1, -1, -1]
        self.model.equal(f"so_far_{e}", columns, values, 0)
        ended = [(self.Y[i], -1) for i in self.numbers if self.around.forward(i) < e]
        self._at_most(f"sent_{e}", [(self.so_far[e], 1), *ended])
        l = self.around.stage_of(e)  # noqa: E741
        if l > 1:
            self._at_most(f"moved_{e}", [(self.off[e], 1), (self.so_far[e], -1)])
            below = [(self.Y[i], -1) for i in range(1, l)]
            self._at_most(f"ever_{e}", [(self.off[e], 1), *below])

    def _add_operation(self, e: int) -> None:
        l = self.around.stage_of(e)  # noqa: E741
        for i in range(1, l):
            self._at_most(f"keeps_{i}_{e}", [(self.k[i, e], 1), (self.k[i, e - 1], -1)])
            self._at_most(f"plain_{i}_{e}", [(self.p[i, e], 1), (self.p[i, e - 1], -1)])
        if l > 1:
            columns = [(self.dev[e], 1), (self.dev[e - 1], -1), (self.brought[e][0], -1)]
            self._at_most(f"balance_{e}", columns)

    def _add_gap(self, e: int) -> None:
        around, l = self.around, self.around.stage_of(e)  # noqa: E741
        fresh = around.stage_of(e - 1) if around.is_forward(e - 1) else None
        runs = [i for i in self.numbers if (e, i) in self.R]
        for i in runs:
            again, again_all = self.R[e, i], self.S[e, i]
            if i > 1:
                read = [self.R[e, i - 1], self.S[e, i - 1], self.k[i - 1, e - 1]]
                terms = [(column, -1) for column in (*read, self.p[i - 1, e - 1])]
                self._at_most(f"reads_{e}_{i}", [(again, 1), *terms])
                self._at_most(f"reads_all_{e}_{i}", [(again_all, 1), *terms])
            # What existed before: what the first forward operation made, or what was kept.
            k = self.f[i] if i == fresh else self.k[i, e - 1]
            if (i, e) not in self.k:
                self.model.at_least(f"needs_{i}", [again_all, k], [1, 1], 1)
                continue
            self._at_most(f"keeps_{i}_{e}", [(self.k[i, e], 1), (again_all, -1), (k, -1)])
            p = [(self.f[i], 1)] if i == fresh else [(self.p[i, e - 1], -1)]
            plain = [(self.p[i, e], 1), (again, -1), *p]
            self._at_most(f"plain_{i}_{e}", plain, int(i == fresh))
        self._add_balance(e, l, runs, fresh)

    def _add_balance(self, e: int, l: int, runs: list[int], fresh: int | None) -> None:  # noqa: E741
        terms, right = [(self.brought[e][0], -1)], 0
        if e in self.dev:
            terms.append((self.dev[e], 1))
        if e - 1 in self.dev:
            terms.append((self.dev[e - 1], -1))
        for i in runs:
            terms += [(self.R[e, i], -self.a[i]), (self.S[e, i], -self.s[i])]
        if fresh is not None:
            terms.append((self.f[fresh], self.a[fresh] - self.s[fresh]))
            right += self.a[fresh]
        if not self.around.is_forward(e):
            right -= self.s[l]
        self._at_most(f"balance_{e}", terms, right)

    def reruns(self, gap: int) -> Terms:
        """Return what runs again in a gap, with the times."""
        return [
            (columns[gap, i], self.given.chain.stages[i - 1].forward_ns)
            for columns in (self.R, self.S)
            for i in self.numbers
            if (gap, i) in columns
        ]

    def operands(self, e: int) -> tuple[int, Terms]:
        """Return the operands of the operation at a cut, and the activations beside them."""
        chain, l = self.given.chain, self.around.stage_of(e)  # noqa: E741
        stage = chain.stages[l - 1]
        terms = [(self.dev[e], 1)] if e in self.dev else []
        if self.around.is_forward(e):
            passing = self.a[l] + stage.forward_overhead_bytes
            terms.append((self.f[l], self.s[l] + stage.saving_overhead_bytes - passing))
            return passing, terms
        return self.given.backward_operands(l), terms
