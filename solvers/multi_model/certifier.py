"""Certificates of lower bounds for several models: trees for the units that the bound rests on.

The bound of `jettison.solvers.multi_model.bound.divisions` is the least sum of the bounds of units.
A certificate has a tree for each unit that matters to it, on the model of the checker, in integers
without roundings (`jettison.certificates.multi_model.training_units`). What fits nowhere needs no
tree: the checker knows the least memory of a unit.
"""

from __future__ import annotations

import gzip
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from jettison.certificates.multi_model.given_models import GivenModels
from jettison.certificates.multi_model.training_units import unit_model
from jettison.certificates.multi_model.unit_model import MilestonesOf
from jettison.formulations.multi_model.bound.milestones import pass_milestones
from jettison.formulations.multi_model.bound.model import MultiModelUnitBound
from jettison.instances.multi_model.problem import MultiModelTraining
from jettison.instances.multi_model.sub_array_key import parts_of
from jettison.schedules.core.schedule_class import ScheduleClass
from jettison.solvers.core.bound import Bound
from jettison.solvers.core.clock import Clock
from jettison.solvers.core.outcome import Infeasibility, SolveOptions
from jettison.solvers.core.params import Params
from jettison.solvers.multi_model.bound.divisions import DivisionBound
from jettison.solvers.multi_model.bound.unit import UnitBound
from jettison.solvers.multi_model.least_division import Sizes, best_division
from jettison.solvers.proof.certificate import Certificate
from jettison.solvers.proof.certify import certificate_of
from jettison.solvers.proof.params import PROOF
from jettison.solvers.proof.proof_lines import Proof
from jettison.solvers.proof.prove import best_proof
from jettison.solvers.proof.root_leaf import root_leaf
from jettison.solvers.proof.statement import Statement

# The denominator of a rate that has a larger one; the rate is rounded up.
_LARGEST_LINK_NS = 1000


@dataclass(frozen=True, kw_only=True)
class UnitProofParams(Params):
    """Parameters of the certificates for several models.

    Attributes
    ----------
    most_multipliers
        Multipliers of the tree of a unit, at most; a larger tree ends with a smaller claim.
    share_for_bounds
        Share of the time in which the bounds of the units are found, before they are proved.
    """

    most_multipliers: int = 200_000
    share_for_bounds: float = 0.3


UNIT_PROOF = UnitProofParams()


def certify_multi_model(
    problem: MultiModelTraining,
    bounds: Sequence[Bound],
    infeasibility: Infeasibility | None,
    options: SolveOptions,
    params: UnitProofParams = UNIT_PROOF,
) -> Certificate | None:
    """Certify the largest bound, or as much of it as can be proved; or that nothing fits."""
    claims = UnitClaims(problem, options, params)
    if infeasibility is not None:
        return claims.certificate(None)
    return claims.best(max((bound.time_ns for bound in bounds), default=0))


class UnitClaims:
    """Proved bounds of units, and the certificate that is made of them.

    Parameters
    ----------
    problem
        The problem.
    options
        Options; the time limit is for the certificate.
    params
        Effort.
    """

    def __init__(
        self, problem: MultiModelTraining, options: SolveOptions, params: UnitProofParams
    ) -> None:
        self._problem, self._options, self._params = problem, options, params
        self._clock = Clock(options.time_limit_s)
        self._formulation = MultiModelUnitBound()
        resources: dict[str, int] = {
            "memory_bytes": problem.memory_bytes,
            "models": problem.count,
        }
        if problem.bandwidth is not None:
            resources["bytes_per_s"] = problem.link.bytes_per_s
            if problem.link.is_shared:
                resources["total_bytes_per_s"] = problem.link.total_bytes_per_s
        document = problem.instance.to_json()
        self._given = GivenModels.from_json(document, resources)
        self._link = self._rate()
        formulation = {
            "name": "training-units",
            "version": 1,
            "link_bytes": self._link[0],
            "link_ns": self._link[1],
        }
        self._statement = Statement(problem.problem, document, resources, formulation)
        self._proofs: dict[Sizes, Proof] = {}

    def best(self, target_ns: int) -> Certificate:
        """Return the certificate of a bound, or of the largest smaller one that is proved."""
        options = self._options.quiet()
        share = self._clock.left_s * self._params.share_for_bounds
        bounds = DivisionBound(self._problem, options, Clock(None if math.isinf(share) else share))
        bounds.run()
        values = {
            sizes: UnitBound.of_operators(self._problem, sizes).exact_ns for sizes in bounds.units
        }
        asked = dict(values)
        while True:
            division = best_division(self._problem.counts, values)
            assert division is not None
            missing_ns = target_ns - division.value
            for sizes in dict.fromkeys(division.units):
                # What raises this division far enough, or all that is known of the unit.
                share_ns = -(-missing_ns // division.units.count(sizes))
                goal_ns = min(values[sizes] + share_ns, bounds.units[sizes].solver_ns)
                if goal_ns > asked[sizes]:
                    break
            else:
                return self.certificate(division.value)
            if missing_ns <= 0 or not self._clock.left_s:
                return self.certificate(division.value)
            asked[sizes] = goal_ns
            proof = self._proved(sizes, goal_ns)
            if proof is not None and proof.time_ns is not None and proof.time_ns > values[sizes]:
                values[sizes] = proof.time_ns
                self._proofs[sizes] = proof

    def certificate(self, time_ns: int | None) -> Certificate:
        """Return the checked certificate of a claim that follows from what has been proved."""
        lines = []
        for sizes, proof in self._proofs.items():
            arrays = " ".join(
                f"{array.architecture}:{array.models} {_places(forward)} {_places(backward)}"
                for array, forward, backward in self._arrays(sizes)
            )
            lines.append(f"u {proof.time_ns} {proof.scale_bits} {arrays}\n")
            lines.append(gzip.decompress(proof.lines).decode("ascii"))
        text = "".join(lines).encode("ascii")
        leaves = sum(proof.leaves for proof in self._proofs.values())
        whole = Proof(time_ns, 0, gzip.compress(text, mtime=0), len(text), leaves)
        return certificate_of(self._statement, str(ScheduleClass.ALL), whole)

    def _proved(self, sizes: Sizes, goal_ns: int) -> Proof | None:
        """Return a proof that a unit takes so long, or of the largest smaller time.

        The relaxation suffices nearly always; a tree is tried where it does not.
        """
        model = unit_model(self._given, self._arrays(sizes), self._link)
        leaf = root_leaf(model, self._clock)
        if leaf is not None and leaf.time_ns is not None and leaf.time_ns >= goal_ns:
            return leaf
        params = replace(PROOF, most_multipliers=self._params.most_multipliers)
        tree = best_proof(model, goal_ns, self._clock, params=params).proof
        found = [proof for proof in (leaf, tree) if proof is not None]
        return max(found, key=lambda proof: proof.time_ns or 0, default=None)

    def _arrays(self, sizes: Sizes) -> list[MilestonesOf]:
        found = []
        for key in sizes:
            array = self._problem.sub_array(key)
            forward, backward = pass_milestones(array, self._formulation.milestones)
            found.append((self._given.sub_arrays[parts_of(key)], forward.places, backward.places))
        return found

    def _rate(self) -> tuple[int, int]:
        """Return bytes and nanoseconds of a rate that no copy exceeds, in short numbers."""
        rate = max(
            (
                Fraction(tensor.size_bytes, tensor.copy_ns)
                for array in self._given.sub_arrays.values()
                for tensor in array.tensors
                if tensor.copy_ns
            ),
            default=Fraction(1),
        )
        link = self._problem.link.bytes_per_ns
        if rate <= link and link.denominator <= _LARGEST_LINK_NS:
            rate = link
        elif rate.denominator > _LARGEST_LINK_NS:
            rate = Fraction(math.ceil(rate * _LARGEST_LINK_NS), _LARGEST_LINK_NS)
        return max(rate.numerator, 1), rate.denominator


def _places(milestones: Sequence[int]) -> str:
    return ",".join(map(str, milestones))
