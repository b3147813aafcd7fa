"""Recorded choices for instances of the contest, judged from the published file alone."""

from __future__ import annotations

import gzip
import json
from itertools import accumulate
from pathlib import Path
from typing import Any

import pytest

RECORDED = Path(__file__).parents[2] / "benchmarks" / "marks" / "choices"
# Pairs of strategies and strategies that cost as much are forbidden.
FORBIDDEN = 10**18


def read(path: Path) -> Any:
    with gzip.open(path, "rt", encoding="utf-8") as stream:
        return json.load(stream)


@pytest.mark.parametrize(("letter", "cost", "peak_bytes"), [("K", 2183166518, 472141128)])
def test_a_recorded_choice_costs_what_is_said_and_fits(
    shared_data: Path, letter: str, cost: int, peak_bytes: int
) -> None:
    name = f"asplos-2025-iopddl-{letter}.json.gz"
    path = shared_data / "iopddl" / name
    if not path.is_file():
        pytest.skip(f"no {path}: it is a file of the IOPDDL contest")
    problem, choice = read(path)["problem"], read(RECORDED / name)
    nodes, edges = problem["nodes"], problem["edges"]
    assert len(choice) == len(nodes["costs"])
    paid = [costs[chosen] for costs, chosen in zip(nodes["costs"], choice, strict=True)]
    for (one, other), costs in zip(edges["nodes"], edges["costs"], strict=True):
        paid.append(costs[choice[one] * len(nodes["costs"][other]) + choice[other]])
    assert max(paid) < FORBIDDEN
    assert sum(paid) == cost
    # A node is in memory from the first moment of its interval to before the last.
    last = max(end for _, end in nodes["intervals"])
    changes = [0] * (last + 1)
    for (begin, end), usages, chosen in zip(
        nodes["intervals"], nodes["usages"], choice, strict=True
    ):
        if begin < end:
            changes[begin] += usages[chosen]
            changes[end] -= usages[chosen]
    assert max(accumulate(changes)) == peak_bytes <= problem["usage_limit"]
