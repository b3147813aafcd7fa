"""Small integer models for tests of proofs: drawn, enumerated, and their proofs checked."""

from __future__ import annotations

import gzip
import itertools
import math
import random

from jettison.certificates.certificate_file import Record
from jettison.certificates.integer_model import IntegerModel
from jettison.certificates.proof_tree import ProofTree, TreeSize
from jettison.solvers.proof.proof_lines import Proof


def drawn_model(chance: random.Random, *, columns: int = 6, rows: int = 4) -> IntegerModel:
    """Draw a model of few integer columns: a knapsack, and rows of small numbers."""
    model = IntegerModel(
        time_offset_ns=chance.randint(0, 5), cost_per_ns=chance.choice((1, 1, 2, 3))
    )
    unit = chance.choice((1, 1, 5))
    for number in range(columns):
        lower = chance.choice((0, 0, 0, -1, 1))
        upper = lower + chance.choice((1, 1, 1, 2))
        model.add_column(f"x_{number}", lower, upper, cost=unit * chance.randint(-2, 9))
    for number in range(rows):
        chosen = chance.sample(range(columns), chance.randint(1, columns))
        coefficients = [chance.randint(-5, 9) for _ in chosen]
        right = chance.randint(-5, 8)
        if chance.random() < 0.1:
            model.equal(f"row_{number}", chosen, coefficients, right)
        else:
            model.at_least(f"row_{number}", chosen, coefficients, right)
    chosen = chance.sample(range(columns), columns - 1)
    weights = [chance.randint(1, 9) for _ in chosen]
    model.at_most("knapsack", chosen, weights, sum(weights) * 2 // 3)
    return model


def least_objective(model: IntegerModel) -> int | None:
    """Return the optimum by looking at every point; None if there is none."""
    ranges = [
        range(lower, upper + 1) for lower, upper in zip(model.lower, model.upper, strict=True)
    ]
    costs = [
        sum(cost * value for cost, value in zip(model.costs, point, strict=True))
        for point in itertools.product(*ranges)
        if _is_in_all_rows(model, point)
    ]
    return min(costs, default=None)


def least_time_ns(model: IntegerModel, objective: int) -> int:
    """Return the least whole time that an objective allows."""
    return model.time_offset_ns + math.ceil(objective / model.cost_per_ns)


def checked(model: IntegerModel, proof: Proof) -> TreeSize:
    """Follow a proof; derived rows are added to the model."""
    lines = gzip.decompress(proof.lines).decode("ascii").splitlines()
    to_beat = None if proof.time_ns is None else model.to_beat(proof.time_ns)
    records = (
        Record(number, parts[0], parts[1:])
        for number, parts in enumerate(line.split(" ") for line in lines)
    )
    return ProofTree(model, proof.scale_bits, to_beat).check(records)


def _is_in_all_rows(model: IntegerModel, point: tuple[int, ...]) -> bool:
    for row in model.rows:
        value = sum(a * point[j] for j, a in zip(row.columns, row.coefficients, strict=True))
        if value < row.right or (row.is_equation and value > row.right):
            return False
    return True
