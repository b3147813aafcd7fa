r"""Certificates that the items of a 3-PARTITION cannot be partitioned.

An instance of known answer holds an argument (`instances.three_partition_certificate`), which is
turned into one leaf of the triple model without any solver:

* weights :math:`y_v` of values, at least 0 on every triple and below 0 on all items together, be
  they given by value or by residue, are a Farkas vector: the row of :math:`v` has the multiplier
  :math:`-y_v`;
* two classes of items that no triple mixes, of :math:`s` items the one, :math:`3 \nmid s`: the rows
  of its values add up to :math:`3 \sum_j t_j = s` over its triples. Divided by 3 and rounded they
  say :math:`\sum_j t_j \ge \lceil s / 3 \rceil`; three times that, less the rows, is
  :math:`0 \ge 3 \lceil s / 3 \rceil - s > 0`.

For other instances the triple model is searched, and then the assignment of items to groups.
"""

from __future__ import annotations

import gzip
from collections import Counter

from jettison.instances.three_partition.certificate import (
    ResidueWeights,
    SplitModuli,
    TripleWeights,
)
from jettison.instances.three_partition.instance import ThreePartition
from jettison.solvers.core.clock import Clock
from jettison.solvers.proof.attempts import Attempted, best_certificate
from jettison.solvers.proof.certificate import Certificate
from jettison.solvers.proof.statement import Statement


def certify_no_partition(instance: ThreePartition, clock: Clock) -> Certificate | None:
    """Return a certificate that there is no partition; it has been checked.

    None where there is one, or no proof was found in time.
    """
    known = certificate_of_argument(instance)
    if known is not None:
        return known
    forms = [Attempted(_statement(instance, name)) for name in ("triples", "assignment")]
    return best_certificate(forms, None, clock)


def certificate_of_argument(instance: ThreePartition) -> Certificate | None:
    """Return what an instance's own argument proves, as a certificate that has been checked.

    None where it has none, or it proves that there is a partition. Linear time.

    Raises
    ------
    CertificateError
        If the argument proves nothing.
    """
    count = Counter(instance.values)
    values = sorted(count)
    match instance.certificate:
        case TripleWeights(weights):
            weight_of = dict(weights)
            lines = [_leaf({row: -weight_of[value] for row, value in enumerate(values)})]
        case ResidueWeights(modulus, weights):
            weight_of = dict(weights)
            lines = [_leaf({row: -weight_of[value % modulus] for row, value in enumerate(values)})]
        case SplitModuli((first, _)):
            third = instance.target // 3
            rows = [row for row, value in enumerate(values) if (value - third) % first == 0]
            lines = [
                " ".join(["G 3", *(f"{row}:1" for row in rows)]),
                _leaf({**dict.fromkeys(rows, -1), len(values): 3}),
            ]
        case _:
            return None
    statement = _statement(instance, "triples")
    header = statement.header(None, statement.model().valid_for, 0)
    text = "".join(f"{line}\n" for line in lines)
    certificate = Certificate(header, gzip.compress(text.encode("ascii"), mtime=0))
    certificate.checked()
    return certificate


def _leaf(multipliers: dict[int, int]) -> str:
    """Return the record of a leaf without points."""
    return " ".join(["f", *(f"{row}:{value}" for row, value in multipliers.items() if value)])


def _statement(instance: ThreePartition, formulation: str) -> Statement:
    """Return the statement about the items alone: not what the instance says of its answer."""
    document = {
        "format": "jettison",
        "kind": instance.kind,
        "version": 1,
        "name": instance.name,
        "values": list(instance.values),
        "target": instance.target,
    }
    return Statement("three-partition", document, {}, {"name": formulation, "version": 1})
