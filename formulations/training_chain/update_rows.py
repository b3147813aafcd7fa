"""Rows of the cycle bound about weights, gradients and states: updates and inventories."""

from __future__ import annotations

import math
from collections.abc import Callable

from jettison.formulations.milp.builder import ArrayModelBuilder
from jettison.formulations.training_chain.around import Around
from jettison.formulations.training_chain.training_scale import TrainingScale

Terms = list[tuple[int, float]]


class UpdateRows:
    """Columns and rows about updates; their names are those of `cycle_bound`.

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
        lengths: list[int],
    ) -> None:
        self._builder = builder
        self._scale = scale
        self._around = around
        self._lengths = lengths
        chain = scale.problem.instance
        self._chain = chain
        self._stages = [i for i in range(1, len(chain) + 1) if chain.stage(i).is_trained]
        self._weights = {i: scale.size(chain.stage(i).weight_bytes) for i in self._stages}
        self._gradient = {
            i: scale.size(chain.stage(i).gradient_of_weights_bytes) for i in self._stages
        }
        self._states = {i: scale.size(chain.stage(i).optimizer_state_bytes) for i in self._stages}
        self.brought: list[list[int]] = [[] for _ in range(around.num_elements)]
        self.sent: list[list[int]] = [[] for _ in range(around.num_elements)]
        self._inventories: dict[str, list[int]] = {}
        self._add_columns()
        for stage in self._stages:
            self._add_update(stage)
        if self._stages:
            self._add_host()
            self._add_inventories()
            self._add_presence()
            self._add_resident()

    def _add_columns(self) -> None:
        builder, around = self._builder, self._around
        # Each gradient is made once.
        self._one = builder.add_column("one", lower=1.0, upper=1.0)
        self._device: dict[tuple[int, int], int] = {}
        self._moved_states: dict[tuple[int, int], int] = {}
        self._before: dict[tuple[int, int], int] = {}
        self._after: dict[tuple[int, int], int] = {}
        self._host: dict[tuple[int, int], int] = {}
        self._on_host: dict[int, int] = {}
        self._absent: dict[int, int] = {}
        self._late: dict[int, int] = {}
        self._copied: dict[int, int] = {}
        for i in self._stages:
            able = self._chain.stage(i).host_can_update
            self._on_host[i] = builder.add_column(f"q_{i}", upper=1.0 if able else 0.0)
            self._absent[i] = builder.add_column(f"y_{i}", upper=1.0)
            self._late[i] = builder.add_column(f"c_{i}", upper=1.0)
            self._copied[i] = builder.add_column(f"z_{i}", upper=1.0)
            for gap in around.gaps(i):
                self._device[i, gap] = builder.add_column(f"x_{i}_{gap}", upper=1.0)
                self._moved_states[i, gap] = builder.add_column(f"xs_{i}_{gap}", upper=1.0)
                self._before[i, gap] = builder.add_column(f"n_{i}_{gap}", upper=1.0)
                self._after[i, gap] = builder.add_column(f"m_{i}_{gap}", upper=1.0)
            if able:
                for element in around.window(i):
                    self._host[i, element] = builder.add_column(f"h_{i}_{element}", upper=1.0)

    def _of(self, columns: dict[tuple[int, int], int], stage: int) -> list[int]:
        return [
            columns[stage, element]
            for element in self._around.window(stage)
            if (stage, element) in columns
        ]

    def _add_update(self, i: int) -> None:
        builder, around, stage = self._builder, self._around, self._chain.stage(i)
        scale, lengths = self._scale, self._lengths
        device, host = self._of(self._device, i), self._of(self._host, i)
        states, before = self._of(self._moved_states, i), self._of(self._before, i)
        after = self._of(self._after, i)
        q, y, c, z = self._on_host[i], self._absent[i], self._late[i], self._copied[i]
        builder.add_row(f"once_{i}", [*device, q], [1.0] * (len(device) + 1), lower=1.0, upper=1.0)
        if host:
            signs = [*[1.0] * len(host), -1.0]
            builder.add_row(f"hosted_{i}", [*host, q], signs, lower=0.0, upper=0.0)
        for gap in around.gaps(i):
            x = self._device[i, gap]
            for name, columns in (
                ("states", self._moved_states),
                ("before", self._before),
                ("after", self._after),
            ):
                builder.add_row(f"{name}_{i}_{gap}", [columns[i, gap], x], [1.0, -1.0], upper=0.0)
        ones = [1.0] * len(after)
        builder.add_row(f"late_{i}", [c, y, q, *after], [1.0, -1.0, 1.0, *ones], lower=0.0)
        builder.add_row(
            f"copy_{i}",
            [z, c, *before, *after],
            [1.0, 1.0, *[-1.0] * len(before), *ones],
            lower=0.0,
        )
        update = scale.time(stage.update_ns)
        to_send = scale.transfer(stage.weight_bytes)
        on_host = scale.transfer(stage.gradient_of_weights_bytes) + to_send
        on_host += scale.time(stage.host_update_ns or 0)
        window = [lengths[element] for element in around.window(i)]
        builder.add_row(
            f"turn_{i}",
            [*window, q, *after],
            [*[1.0] * len(window), update - on_host, *[-2.0 * to_send] * len(after)],
            lower=update,
        )
        away = [lengths[element] for element in around.between(i)]
        builder.add_row(f"absence_{i}", [*away, y], [*[1.0] * len(away), -to_send], lower=0.0)
        trip = 2.0 * scale.transfer(stage.optimizer_state_bytes) + update
        builder.add_row(
            f"trip_{i}",
            [*lengths, *states],
            [*[1.0] * len(lengths), *[-trip] * len(states)],
            lower=0.0,
        )

    def _add_host(self) -> None:
        for element, length in enumerate(self._lengths):
            terms = [
                (column, self._scale.time(self._chain.stage(i).host_update_ns or 0))
                for (i, where), column in self._host.items()
                if where == element
            ]
            if terms:
                self._builder.add_row(
                    f"host_{element}",
                    [length, *(column for column, _ in terms)],
                    [-1.0, *(time for _, time in terms)],
                    upper=0.0,
                )

    def _moves(self, name: str, lists: list[list[int]], total: float) -> list[int]:
        """Add a column of what moves in each element, no more than a total."""
        found = []
        for element in range(self._around.num_elements):
            column = self._builder.add_column(f"{name}_{element}", upper=total)
            lists[element].append(column)
            found.append(column)
        return found

    def _add_inventories(self) -> None:
        around, total = self._around, self._around.num_elements
        first, last_backward = 0, around.backward(around.stages) - 1
        totals = {
            kind: math.fsum(sizes.values())
            for kind, sizes in (("w", self._weights), ("G", self._gradient), ("S", self._states))
        }

        def most(name: str) -> float:
            return totals.get(name[1], totals["w"])

        brought = {
            name: self._moves(name, self.brought, most(name))
            for name in ("u1", "uF", "uB", "uq", "uG", "uS")
        }
        sent = {
            name: self._moves(name, self.sent, most(name))
            for name in ("dF", "dr", "dz", "dG", "dS")
        }

        def empty() -> list[Terms]:
            return [[] for _ in range(total)]

        def every(columns: list[int], sign: float) -> list[Terms]:
            return [[(column, sign)] for column in columns]

        def at(
            where: Callable[[int], int], what: Callable[[int], list[int]], sizes: dict[int, float]
        ) -> list[Terms]:
            found = empty()
            for i in self._stages:
                found[where(i)] += [(column, sizes[i]) for column in what(i)]
            return found

        def in_place(columns: dict[tuple[int, int], int], sizes: dict[int, float]) -> list[Terms]:
            found = empty()
            for (i, element), column in columns.items():
                found[element].append((column, sizes[i]))
            return found

        def after_forward(i: int) -> int:
            return around.after(around.forward(i))

        def after_backward(i: int) -> int:
            return around.after(around.backward(i))

        def before_forward(i: int) -> int:
            return around.forward(i) - 1

        def before_backward(i: int) -> int:
            return around.backward(i) - 1

        weights, gradient, states = self._weights, self._gradient, self._states

        def absent(i: int) -> list[int]:
            return [self._absent[i]]

        def after(i: int) -> list[int]:
            return self._of(self._after, i)

        back = at(before_backward, absent, weights)
        needed = at(before_forward, after, weights)
        for name, incoming, outgoing, pin in (
            ("A1", at(after_forward, absent, weights), back, first),
            ("h1", every(brought["u1"], 1.0), back, first),
            ("AF", in_place(self._after, weights), needed, last_backward),
            ("hF", every(brought["uF"], 1.0), needed, last_backward),
            ("gW", in_place(self._after, weights), every(sent["dF"], 1.0), None),
            (
                "AB",
                at(after_backward, lambda i: self._of(self._before, i), weights),
                in_place(self._before, weights),
                last_backward,
            ),
            ("hB", every(brought["uB"], 1.0), in_place(self._before, weights), last_backward),
            (
                "hq",
                every(brought["uq"], 1.0),
                at(before_forward, lambda i: [self._on_host[i]], weights),
                last_backward,
            ),
            ("V", in_place(self._host, weights), every(brought["uq"], 1.0), last_backward),
            (
                "Gd",
                _together(
                    at(after_backward, lambda _: [self._one], gradient),
                    every(brought["uG"], 1.0),
                ),
                _together(in_place(self._device, gradient), every(sent["dG"], 1.0)),
                last_backward,
            ),
            (
                "Gh",
                every(sent["dG"], 1.0),
                _together(in_place(self._host, gradient), every(brought["uG"], 1.0)),
                last_backward,
            ),
            ("hS", every(brought["uS"], 1.0), in_place(self._moved_states, states), None),
            ("gS", in_place(self._moved_states, states), every(sent["dS"], 1.0), None),
            (
                "r",
                at(after_backward, lambda i: [self._late[i]], weights),
                every(sent["dr"], 1.0),
                None,
            ),
        ):
            limit = {"Gd": "G", "Gh": "G", "hS": "S", "gS": "S"}.get(name, "w")
            self._add_inventory(name, incoming, outgoing, pin, totals[limit])
        copies = [(self._copied[i], -weights[i]) for i in self._stages if weights[i]]
        if copies:
            self._builder.add_row(
                "copies",
                [*sent["dz"], *(column for column, _ in copies)],
                [*[1.0] * total, *(size for _, size in copies)],
                lower=0.0,
            )

    def _add_inventory(
        self,
        name: str,
        incoming: list[Terms],
        outgoing: list[Terms],
        pin: int | None,
        total_size: float,
    ) -> None:
        builder, total = self._builder, self._around.num_elements
        columns = [
            builder.add_column(f"{name}_{cut}", upper=0.0 if cut == pin else total_size)
            for cut in range(total)
        ]
        self._inventories[name] = columns
        for cut in range(total):
            terms = [(columns[cut], 1.0), (columns[cut - 1], -1.0)]
            terms += [(column, -size) for column, size in incoming[cut]]
            terms += [(column, size) for column, size in outgoing[cut]]
            builder.add_row(
                f"{name}_{cut}",
                [column for column, _ in terms],
                [size for _, size in terms],
                lower=0.0,
                upper=0.0,
            )

    def _add_presence(self) -> None:
        """Add (past) and (present)."""
        builder, around, have = self._builder, self._around, self._inventories
        most = math.fsum(self._weights.values())
        self._waiting = [
            builder.add_column(f"qL_{cut}", upper=most) for cut in range(around.num_elements)
        ]
        for cut in range(around.num_elements):
            # At the end of its forward operation a stage's own weights are an operand still.
            not_begun = [
                i
                for i in self._stages
                if self._weights[i] and (cut in around.window(i) or cut == around.forward(i))
            ]
            builder.add_row(
                f"past_{cut}",
                [self._waiting[cut], have["r"][cut], *(self._late[i] for i in not_begun)],
                [1.0, -1.0, *(self._weights[i] for i in not_begun)],
                lower=0.0,
            )
            for name, columns in (
                ("present_1", [have["A1"][cut], have["h1"][cut], self._waiting[cut]]),
                ("present_F", [have["AF"][cut], have["hF"][cut], have["gW"][cut]]),
                ("present_B", [have["AB"][cut], have["hB"][cut]]),
            ):
                signs = [1.0, *[-1.0] * (len(columns) - 1)]
                builder.add_row(f"{name}_{cut}", columns, signs, lower=0.0)

    def _add_resident(self) -> None:
        """Add (resident): one column for a sum that all rows of the memory have."""
        columns, sizes = [], []
        for (i, gap), column in self._device.items():
            if self._states[i]:
                columns += [column, self._moved_states[i, gap]]
                sizes += [-self._states[i], self._states[i]]
        most = math.fsum(self._states.values())
        self._resident = self._builder.add_column("rS", upper=most)
        self._builder.add_row(
            "resident", [self._resident, *columns], [1.0, *sizes], lower=0.0, upper=0.0
        )

    def device_updates(self, gap: int) -> Terms:
        """Return the updates of the device in a gap, with the time of each."""
        return [
            (column, self._scale.time(self._chain.stage(i).update_ns))
            for (i, element), column in self._device.items()
            if element == gap
        ]

    def present(self, cut: int) -> Terms:
        """Return what weights, states and gradients take at a cut beside all weights."""
        if not self._stages:
            return []
        have, around = self._inventories, self._around
        terms: Terms = [
            (have["A1"][cut], -1.0),
            (have["h1"][cut], 1.0),
            (self._waiting[cut], 1.0),
            (have["AF"][cut], -1.0),
            (have["hF"][cut], 1.0),
            (have["gW"][cut], 1.0),
            (have["AB"][cut], -1.0),
            (have["hB"][cut], 1.0),
            (have["hq"][cut], 1.0),
            (have["hS"][cut], 1.0),
            (have["gS"][cut], 1.0),
            (have["Gd"][cut], 1.0),
        ]
        for i in self._stages:
            # The operation at the cut has its weights, whose update the host did or not.
            strictly = cut in around.window(i) and cut != around.forward(i) - 1
            if strictly and self._weights[i]:
                terms.append((self._on_host[i], -self._weights[i]))
        terms.append((self._resident, 1.0))
        return terms


def _together(*lists: list[Terms]) -> list[Terms]:
    return [[term for part in parts for term in part] for parts in zip(*lists, strict=True)]
