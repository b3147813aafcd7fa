"""Codes of joint plans: a byte for the choices of each stage, which the kernel reads."""

from __future__ import annotations

from itertools import product
from typing import NamedTuple

from jettison.instances.remat_chain.chain import Chain
from jettison.solvers.training_chain.stage_choices import (
    JointPlan,
    StageChoice,
    UpdatePlace,
    Way,
    essential_choice,
    possible_choice,
)

_FLAGS = (False, True)
# All choices in the order of their codes, the fields as digits: as in the kernel.
CHOICES = tuple(
    StageChoice(*fields) for fields in product(Way, Way, _FLAGS, _FLAGS, UpdatePlace, _FLAGS)
)
CODES = {choice: code for code, choice in enumerate(CHOICES)}


class CodedPlan(NamedTuple):
    """Joint plan with a byte for each stage; the other fields are those of `JointPlan`."""

    codes: bytes
    weights_ahead: int
    activations_ahead: int
    sends_by_need: bool
    updates_by_need: bool
    fetches_what_is_there: bool


def coded(plan: JointPlan) -> CodedPlan:
    """Return a plan in codes."""
    return CodedPlan(bytes([CODES[choice] for choice in plan.stages]), *plan[1:])


def decoded(plan: CodedPlan) -> JointPlan:
    """Return the plan of some codes."""
    return JointPlan(tuple(CHOICES[code] for code in plan.codes), *plan[1:])


class PlanCodes:
    """Codes that the stages of a chain can have.

    Parameters
    ----------
    chain
        The instance.
    """

    def __init__(self, chain: Chain) -> None:
        tables: dict[tuple[bool, ...], tuple[bytes, bytes]] = {}
        self._possible: list[bytes] = []
        self._essential: list[bytes] = []
        for number, stage in enumerate(chain, start=1):
            is_last = number == len(chain)
            kind = (
                is_last,
                stage.is_trained,
                stage.host_can_update,
                bool(stage.weight_bytes),
                bool(stage.optimizer_state_bytes),
            )
            if kind not in tables:
                allowed = [possible_choice(stage, choice, is_last=is_last) for choice in CHOICES]
                tables[kind] = (
                    bytes(CODES[choice] for choice in allowed),
                    bytes(CODES[essential_choice(stage, choice)] for choice in allowed),
                )
            possible, essential = tables[kind]
            self._possible.append(possible)
            self._essential.append(essential)

    def possible(self, plan: CodedPlan) -> CodedPlan:
        """Return a plan without choices that the chain does not have."""
        codes = bytes([table[code] for table, code in zip(self._possible, plan.codes, strict=True)])
        return plan._replace(codes=codes)

    def essential(self, plan: CodedPlan) -> CodedPlan:
        """Return a possible plan with choices that make no difference put to one value."""
        pairs = zip(self._essential, plan.codes, strict=True)
        return CodedPlan(bytes([table[code] for table, code in pairs]), *plan[1:])
