"""3-PARTITION decided by HiGHS on the triple model."""

from __future__ import annotations

from dataclasses import dataclass

from jettison.formulations.three_partition.triples import three_partition_triples
from jettison.instances.core.errors import JettisonError
from jettison.instances.three_partition.certificate import (
    Answer as PartitionAnswer,
)
from jettison.instances.three_partition.certificate import PlantedTriples
from jettison.instances.three_partition.instance import Partition, ThreePartition
from jettison.solvers.core.status import Answer
from jettison.solvers.milp.highs import HighsOptions, solve_model


@dataclass(frozen=True)
class Decision:
    """Verdict on an instance after a run.

    Attributes
    ----------
    answer
        Yes with a partition, no by the word of HiGHS, None if a limit came first.
    partition
        Positions of the items of each group; None unless the answer is yes.
    seconds
        Wall-clock time.
    """

    answer: PartitionAnswer | None
    partition: Partition | None
    seconds: float


def decide_three_partition(
    instance: ThreePartition, options: HighsOptions | None = None
) -> Decision:
    """Decide an instance; a partition is checked in exact integers before it is returned.

    Exact up to the tolerances of HiGHS: its no is no proof that can be checked. The model has one
    row per distinct value and one column per triple of values, at most a quarter as many as pairs
    of values.

    Raises
    ------
    JettisonError
        If the point that HiGHS returns is no partition.
    """
    built = three_partition_triples(instance)
    solution = solve_model(built.model, options)
    if solution.answer is Answer.INFEASIBLE:
        return Decision(PartitionAnswer.NO, None, solution.seconds)
    if solution.values is None:
        return Decision(None, None, solution.seconds)
    partition = built.partition(solution.values)
    try:
        PlantedTriples(partition).check(instance.values, instance.target)
    except ValueError as error:
        raise JettisonError(f"the point of HiGHS is no partition: {error}") from error
    return Decision(PartitionAnswer.YES, partition, solution.seconds)
