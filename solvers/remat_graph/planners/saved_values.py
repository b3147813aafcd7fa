r"""Choice of the values that torch's partitioner saves, at a memory budget from 0 to 1.

Source: ``min_cut_rematerialization_partition`` and ``choose_saved_values_set`` in
``torch/_functorch/partitioners.py`` of PyTorch 2.13.0, with the default configuration.

1. A *minimum cut* separates what is banned from recomputation from the backward pass. A value is an
   arc with the weight of what it takes to save it (`RecomputationBans.weight`); what is cut is
   saved. With all bans that is the answer at a budget of 1.
2. Below it two cuts with fewer bans are tried. The size of a choice is measured between 0, all
   inputs, and 1, the answer at a budget of 1. One that is below the budget is the answer.
3. If none is, of what is still banned (products of matrices, convolutions, random operators,
   reductions) a *knapsack* of the budget holds what stays banned: most time to recompute in so many
   bytes. The last cut is made again without the bans of the others.
4. At a budget of 0 the inputs are saved and nothing else.

Bytes saved stand for the peak, which nobody looks at: it may rise as the budget falls.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property

from jettison.solvers.core.clock import Clock
from jettison.solvers.remat_graph.planners.joint_program import JointProgram, Role
from jettison.solvers.remat_graph.planners.knapsacks import NO_LIMIT, Knapsack, KnapsackItems
from jettison.solvers.remat_graph.planners.minimum_cut import FlowNetwork, connected_parts
from jettison.solvers.remat_graph.planners.recomputation_bans import (
    AGGRESSIVE,
    DEFAULT,
    MORE_AGGRESSIVE,
    RecomputationBans,
    is_recomputed_in_backward,
)

Saved = tuple[int, ...]
"""Positions of saved values, ascending."""


class SavedValues:
    """Saved values of one program at every budget.

    Parameters
    ----------
    program
        The training step.
    knapsack
        Chooses what stays banned in a budget.
    clock
        When it runs out, what is computed next ends with a `TimeoutError`.
    """

    def __init__(self, program: JointProgram, knapsack: Knapsack, clock: Clock = NO_LIMIT) -> None:
        self._program = program
        self._knapsack = knapsack
        self._clock = clock
        self._bans = RecomputationBans(program)
        self._weights = [self._bans.weight(position) for position in range(len(program.values))]
        self._cut_of: dict[tuple[tuple[int, bool], ...], Saved] = {}

    def at(self, budget: float) -> Saved:
        """Return what is saved at a budget from 0 to 1."""
        if budget == 0:
            return self._inputs
        if budget == 1 or self._range_bytes <= 0:
            return self._of_default
        for choice in (self._of_more_aggressive, self._of_aggressive):
            if self._share(choice) < budget:
                return choice
        if not self._items.positions:
            return self._inputs
        return self._without_bans_beside(self._knapsack.chosen(self._items, budget))

    def all_choices(self) -> Iterator[Saved]:
        """Yield the choices at all budgets that differ, each at least once.

        Those of the knapsack come after the others; it says whether it looks at all budgets
        (`Knapsack.all_choices`). The choice at 0 is the last of the others.
        """
        yield self._of_default
        if self._range_bytes <= 0:
            yield self._inputs
            return
        largest = 1.0
        for choice in (self._of_more_aggressive, self._of_aggressive):
            if self._share(choice) < largest:
                yield choice
            largest = min(largest, self._share(choice))
        yield self._inputs
        if self._items.positions and largest > 0:
            for kept in self._knapsack.all_choices(self._items, largest, self._clock):
                yield self._without_bans_beside(kept)

    def size_bytes(self, saved: Saved) -> int:
        """Return the size of saved values as the partitioner counts it, views as what they show."""
        return sum(self._program.values[position].size_bytes for position in saved)

    @cached_property
    def _inputs(self) -> Saved:
        return tuple(
            position
            for position, value in enumerate(self._program.values)
            if value.role in (Role.PARAMETER, Role.INPUT)
        )

    @cached_property
    def _of_default(self) -> Saved:
        return self._cut(self._bans.banned(DEFAULT))

    @cached_property
    def _of_more_aggressive(self) -> Saved:
        return self._cut(self._bans.banned(MORE_AGGRESSIVE))

    @cached_property
    def _of_aggressive(self) -> Saved:
        return self._cut(self._aggressive_bans)

    @cached_property
    def _aggressive_bans(self) -> dict[int, None]:
        return self._bans.banned(AGGRESSIVE)

    @cached_property
    def _range_bytes(self) -> int:
        return self.size_bytes(self._of_default) - self._program.inputs_bytes

    def _share(self, saved: Saved) -> float:
        """Return the size of a choice on the scale of budgets."""
        # As torch computes it, in GB.
        least, most = self._program.inputs_bytes / 1e9, self.size_bytes(self._of_default) / 1e9
        return (self.size_bytes(saved) / 1e9 - least) / (most - least)

    @cached_property
    def _items(self) -> KnapsackItems:
        """The values that the knapsack chooses from, the largest first."""
        values = self._program.values
        positions = sorted(
            (
                position
                for position in self._aggressive_bans
                if is_recomputed_in_backward(self._program, position)
                and values[position].role not in (Role.PARAMETER, Role.INPUT)
            ),
            key=lambda position: values[position].size_bytes,
            reverse=True,
        )
        least, most = self._program.inputs_bytes / 1e9, self.size_bytes(self._of_default) / 1e9
        return KnapsackItems(
            positions=tuple(positions),
            memory=tuple(
                values[position].size_bytes / 1e9 / (most - least) for position in positions
            ),
            runtime=tuple(float(values[position].duration_ns) for position in positions),
        )

    def _without_bans_beside(self, kept: frozenset[int]) -> Saved:
        """Return the cut in which, of the knapsack's items, those by these numbers stay banned."""
        freed = {
            position for number, position in enumerate(self._items.positions) if number not in kept
        }
        return self._cut(
            {position: None for position in self._aggressive_bans if position not in freed}
        )

    def _cut(self, banned: dict[int, None]) -> Saved:
        """Return the saved values of the minimum cut.

        What is banned is next to the source, and gradients are the sink. Without these two the
        network falls apart; the cut of each part is computed once, whatever is banned elsewhere.
        """
        values, users = self._program.values, self._program.users
        inner = [p for p, value in enumerate(values) if value.role is not Role.GRADIENT]
        neighbours: dict[int, list[int]] = {position: [] for position in inner}
        for position in inner:
            for user in users[position]:
                if user in neighbours and user not in banned:
                    neighbours[position].append(user)
                    neighbours[user].append(position)
        found: list[int] = []
        for part in connected_parts(inner, neighbours):
            self._clock.require_time()
            key = tuple((position, position in banned) for position in part)
            if key not in self._cut_of:
                self._cut_of[key] = self._cut_of_part(part, banned)
            found.extend(self._cut_of[key])
        return tuple(sorted(found))

    def _cut_of_part(self, part: Sequence[int], banned: dict[int, None]) -> Saved:
        values, users = self._program.values, self._program.users
        number = {position: place for place, position in enumerate(part)}
        # More than any cut of saved values.
        infinite = 1 + sum(self._weights[position] for position in part)
        network = FlowNetwork(2 + 2 * len(part))
        for position, place in number.items():
            before, after = 2 + 2 * place, 3 + 2 * place
            if position in banned:
                network.add_arc(network.SOURCE, before, infinite)
            weight = infinite if values[position].is_tuple else self._weights[position]
            network.add_arc(before, after, weight)
            if values[position].is_gradient_output:
                network.add_arc(after, network.SINK, infinite)
            for user in users[position]:
                if values[user].role is Role.GRADIENT:
                    network.add_arc(after, network.SINK, infinite)
                elif user in number and user not in banned:
                    network.add_arc(after, 2 + 2 * number[user], infinite)
        side = network.sink_side()
        return tuple(
            position
            for position, place in number.items()
            if 3 + 2 * place in side and 2 + 2 * place not in side
        )
