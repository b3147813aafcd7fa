"""Rules of torch's partitioner that ban operators from recomputation, and its weights of values.

Source: ``solve_min_cut`` in ``torch/_functorch/partitioners.py`` of PyTorch 2.13.0, with the
default configuration (``torch/_functorch/config.py``): all bans, reductions as well, views that
may be saved, and parameters that are free to save. Its rule that bans what is far from the
backward pass asks for a distance below 1000 and above 1000, and bans nothing; it is left out.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass

from jettison.solvers.remat_graph.planners.joint_program import FAR, JointProgram, Role
from jettison.solvers.remat_graph.planners.operator_lists import (
    COMPUTE_INTENSIVE,
    CONCATENATION,
    FUSIBLE,
    GETITEM,
    RANDOM,
    RECOMPUTABLE,
    VIEWS,
)

LONGEST_CHAIN = 100
_NEVER_BANNED = frozenset({GETITEM, "aten.lift_fresh_copy", "aten.lift_fresh"})


@dataclass(frozen=True, slots=True, kw_only=True)
class BanRules:
    """Rules in force.

    Attributes
    ----------
    used_far_apart
        Ban fusible users of a value behind its first use that cannot be fused.
    long_fusible_chains
        Ban what ends a chain of more than a hundred fusible operators.
    materialized_backward
        Ban what the backward pass reads in an operator that cannot be fused with it.
    not_in_allowlist
        Ban all but recomputable operators; without it, random and compute-intensive ones.
    """

    used_far_apart: bool = True
    long_fusible_chains: bool = True
    materialized_backward: bool = True
    not_in_allowlist: bool = True


DEFAULT = BanRules()
MORE_AGGRESSIVE = BanRules(
    used_far_apart=False, long_fusible_chains=False, materialized_backward=False
)
AGGRESSIVE = BanRules(
    used_far_apart=False,
    long_fusible_chains=False,
    materialized_backward=False,
    not_in_allowlist=False,
)


class RecomputationBans:
    """Bans of the operators of one program, and the weights of its values.

    Parameters
    ----------
    program
        The training step.
    """

    def __init__(self, program: JointProgram) -> None:
        self._program = program
        self._operators = [value.operator for value in program.values]

    def banned(self, rules: BanRules) -> dict[int, None]:
        """Return what is banned from recomputation, in the order in which torch bans it.

        Parameters and inputs are among it. :math:`O(n |E|)` at worst, for uses far apart.
        """
        found: dict[int, None] = {}
        for position, value in enumerate(self._program.values):
            is_resident = value.role in (Role.PARAMETER, Role.INPUT)
            is_forward = position in self._program.forward_place
            if is_resident or (is_forward and self._is_banned(position, rules)):
                self._ban(position, found)
        if rules.used_far_apart:
            self._ban_uses_far_apart(found)
        if rules.long_fusible_chains:
            self._ban_long_chains(found)
        return found

    def weight(self, position: int) -> int:
        """Return the capacity of a value in the cut; what is fused with all of its users is twice.

        Values farther from the backward pass weigh more, a tenth for each step.
        """
        value = self._program.values[position]
        if value.role is Role.PARAMETER:
            return 0
        steps = max(min(self._program.distances[position], 100), 1)
        weight = int(value.size_bytes * (1.1**steps))
        return weight if self._is_materialized(position) else 2 * weight

    def _is_fusible(self, one: int, other: int) -> bool:
        """Tell whether an operator can be fused with a user of it."""
        if self._operators[other] == CONCATENATION:
            return True
        return self._operators[one] in FUSIBLE and self._operators[other] in FUSIBLE

    def _is_materialized(self, position: int) -> bool:
        value = self._program.values[position]
        if (
            value.role in (Role.PARAMETER, Role.INPUT)
            or value.is_output
            or value.is_gradient_output
        ):
            return True
        return not all(self._is_fusible(position, user) for user in self._program.users[position])

    def _ban(self, position: int, found: dict[int, None]) -> None:
        if self._operators[position] not in VIEWS:
            found[position] = None

    def _is_banned(self, position: int, rules: BanRules) -> bool:
        operator = self._operators[position]
        if operator is None or operator in _NEVER_BANNED:
            return False
        if rules.not_in_allowlist:
            if operator not in RECOMPUTABLE:
                return True
        elif operator in RANDOM or operator in COMPUTE_INTENSIVE:
            return True
        if rules.materialized_backward and self._is_materialized_backwards(position):
            return True
        value = self._program.values[position]
        return value.size_bytes * 4 < value.argument_bytes

    def _is_materialized_backwards(self, position: int) -> bool:
        """Tell whether something outside the forward pass reads it, or a view, and is not fused."""
        if self._operators[position] in VIEWS:
            return False
        open_values = [position]
        while open_values:
            current = open_values.pop()
            for user in self._program.users[current]:
                if user not in self._program.forward_place and not self._is_fusible(current, user):
                    return True
                if self._operators[user] in VIEWS:
                    open_values.append(user)
        return False

    def _ban_uses_far_apart(self, found: dict[int, None]) -> None:
        place = self._program.forward_place
        for position in place:
            users = [user for user in self._program.users[position] if user in place]
            if not users:
                continue
            first = self._first_unfusible(users, max(place[user] for user in users))
            for user in users:
                if place[user] > first and self._is_fusible(position, user) and user not in found:
                    self._ban(user, found)

    def _first_unfusible(self, start: list[int], last: int) -> int:
        """Return the place of the first value, in order, that is not fused with what it reads."""
        place = self._program.forward_place
        waiting = [(place[user], user, True) for user in start]
        heapq.heapify(waiting)
        known = set(waiting)
        while waiting:
            entry = heapq.heappop(waiting)
            known.discard(entry)
            at, position, is_fused = entry
            if not is_fused:
                return at
            for user in self._program.users[position]:
                if user in place and place[user] <= last:
                    further = (place[user], user, self._is_fusible(position, user))
                    if further not in known:
                        known.add(further)
                        heapq.heappush(waiting, further)
        return last

    def _ban_long_chains(self, found: dict[int, None]) -> None:
        place = self._program.forward_place
        visited: set[int] = set()
        for start in place:
            waiting = [(place[start], start)]
            while waiting:
                at, position = heapq.heappop(waiting)
                if position in visited:
                    continue
                visited.add(position)
                if at > place[start] + LONGEST_CHAIN and not waiting:
                    self._ban(position, found)
                    break
                for user in self._program.users[position]:
                    if user in place and self._is_fusible(position, user) and user not in found:
                        heapq.heappush(waiting, (place[user], user))


def is_recomputed_in_backward(program: JointProgram, position: int) -> bool:
    """Tell whether the backward pass depends on a value that can be banned."""
    return program.distances[position] < FAR and not program.values[position].views_input
