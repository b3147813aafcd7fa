"""Both checkers build the same model, column by column and row by row, of every formulation.

Rows that are derived from these are the same as well, and so is what is refused.
"""

from __future__ import annotations

import json
import random
import subprocess
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from jettison.certificates.derived_rows import cover, rounded
from jettison.certificates.errors import CertificateError
from jettison.certificates.formulations import FORMULATIONS as FIRST
from jettison.certificates.integer_model import IntegerModel, Row
from jettison.instances.remat_graph.graph import Graph
from jettison.solvers.proof.statement import Statement
from tests.certificates.second_checker import needs_node
from tests.drawing.chains import random_chain, with_random_gradients
from tests.drawing.graphs import tight
from tests.drawing.training_chains import random_training_chain
from tests.remat_graph.result_graphs import graph_of_runs, some_computed_once
from tests.remat_sharding.samples import training_steps
from tests.sharding.oracles.strategy_brute_force import random_graph
from tests.weight_offload.oracles.samples import sample

LISTER = Path(__file__).parent / "list_models.js"
COUNT = 40
DERIVED = 6
PROBLEMS = sorted({problem for problem, _, _ in FIRST})


def statements(problem: str) -> Iterator[Statement]:
    """Yield all formulations of random instances, in any memory."""
    chance = random.Random(f"models of {problem}")
    for number in range(COUNT):
        instance, resources = _given(problem, number, chance)
        for name, options in _formulations(problem, instance, chance):
            if name == "cover" and "total_bytes_per_s" in resources:
                # It is about one direction alone, and refuses a total.
                continue
            formulation = {"name": name, "version": 1, **options}
            yield Statement(problem, instance, resources, formulation)


def _given(problem: str, number: int, chance: random.Random) -> tuple[Any, dict[str, int]]:
    memory = {"memory_bytes": chance.randrange(40)}
    match problem:
        case "remat-chain":
            chain = random_chain(chance, chance.randint(3, 7))
            if number % 2:
                chain = with_random_gradients(chance, chain, 6)
            return chain.to_json(), memory
        case "remat-offload-chain":
            chain = with_random_gradients(chance, random_chain(chance, chance.randint(1, 5)), 6)
            return chain.to_json(), {**memory, "bytes_per_s": chance.randint(1, 9)}
        case "remat-graph":
            graph = tight(chance, chance.randint(5, 9)).instance
            if number % 3 == 0:
                graph = graph_of_runs(number, 7)
            return some_computed_once(graph, chance).to_json(), memory
        case "weight-offload":
            sizes = {"most_bytes": chance.choice((1, 2, 9)), "least": chance.randint(0, 1)}
            cycle = sample(chance, chance.randint(1, 6), longest_ns=9, **sizes)
            rate = cycle.link.bytes_per_s
            resources = {"memory_bytes": cycle.memory_bytes, "bytes_per_s": rate}
            if number % 2:
                resources["total_bytes_per_s"] = chance.choice((rate, rate * 5 // 4, 2 * rate - 1))
            chain = cycle.instance
            if number % 3 == 0:
                chain = with_random_gradients(chance, chain, 6)
            return chain.to_json(), resources
        case "training-chain":
            rate = chance.choice((3 * 10**8, 10**9, 2 * 10**9))
            resources = {**memory, "bytes_per_s": rate}
            if number % 2:
                resources["total_bytes_per_s"] = chance.choice((rate, rate * 5 // 4, 2 * rate - 1))
            return random_training_chain(chance, chance.randint(1, 4)).to_json(), resources
        case "sharding":
            return random_graph(number, most_nodes=9).to_json(), memory
        case "remat-sharding":
            [step] = training_steps(seed=number, count=1, most_operators=14)
            return step.instance.to_json(), {"memory_bytes": step.memory_bytes}
    return _items(chance), {}


def _items(chance: random.Random) -> dict[str, Any]:
    target, values = chance.randint(20, 60), []
    while len(values) < 3 * chance.randint(1, 9):
        triple = [chance.randint(target // 4 + 1, (target - 1) // 2) for _ in range(2)]
        triple.append(target - sum(triple))
        if target < 4 * triple[-1] < 2 * target:
            values += triple
    chance.shuffle(values)
    head = {"format": "jettison", "kind": "three-partition", "version": 1, "name": "items"}
    return {**head, "values": values, "target": target}


def _formulations(
    problem: str, instance: Any, chance: random.Random
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield names and options, these drawn anew."""
    match problem:
        case "remat-chain":
            yield "chain-cut", {"stage": chance.randint(1, len(instance["stages"]))}
        case "remat-offload-chain":
            yield "memory-floor", {}
        case "training-chain":
            yield "cycle", {}
            yield "peak", {}
        case "remat-graph":
            yield "memory-floor", {}
            count = len(Graph.from_json(instance))
            cut = chance.randint(1, count - 1)
            cuts = sorted({cut - 1, cut, *chance.sample(range(count), 2)})
            slots = [[cut, q] for q in range(cut) if chance.random() < 0.5]
            staged = chance.random() < 0.5
            yield "windowed-frontier", {"cuts": cuts, "slots": slots, "staged": staged}
        case "weight-offload":
            yield "cover", {}
            yield "aggregated", {}
            yield "aggregated", {"whole": True}
            cuts = ["3a", "3b", "7'", "6c"]
            yield "milp", {"cuts": chance.sample(cuts, chance.randint(0, 4))}
        case "sharding":
            yield "strategy-choice", {}
        case "remat-sharding":
            for name in ("kiwi-reduced-compact", "memory-floor", "sharding-only"):
                yield name, {}
        case "three-partition":
            yield "triples", {}
            yield "assignment", {}


def records(model: IntegerModel, chance: random.Random) -> list[str]:
    """Return records that derive rows, or would if they were right."""
    found = []
    for _ in range(DERIVED):
        rows = chance.sample(range(len(model.rows)), min(len(model.rows), chance.randint(1, 4)))
        if chance.random() < 0.5:
            weights = " ".join(f"{row}:{chance.choice((-1, 1, 1, 2, 3))}" for row in rows)
            found.append(f"G {chance.randint(1, 4)} {weights}")
            continue
        items = model.rows[rows[0]].columns
        named = chance.sample(items, min(len(items), chance.randint(1, 3)))
        profits = " ".join(f"{column}:{chance.randint(1, 2)}" for column in named)
        found.append(f"K {rows[0]} {chance.randint(0, 2)} {profits}".rstrip())
    return found


def first_checkers(statement: Statement, derived: list[str]) -> dict[str, Any]:
    """Return the model of the first checker, as the script lists those of the second."""
    stated = statement.model()
    model = stated.model
    refused = []
    for record in derived:
        letter, *parts = record.split(" ")
        try:
            model.derive(_derived(model, letter, parts))
        except CertificateError:
            refused.append(True)
        else:
            refused.append(False)
    columns = zip(
        model.column_names, model.lower, model.upper, model.costs, model.is_integer, strict=True
    )
    return {
        "validFor": stated.valid_for,
        "offset": str(model.time_offset_ns),
        "scale": str(model.cost_per_ns),
        "columns": [
            [name, str(lower), str(upper), str(cost), is_integer]
            for name, lower, upper, cost, is_integer in columns
        ],
        "rows": [
            [
                [[j, str(a)] for j, a in sorted(zip(row.columns, row.coefficients, strict=True))],
                str(row.right),
                row.is_equation,
            ]
            for row in model.rows
        ],
        "refused": refused,
    }


def _derived(model: IntegerModel, letter: str, parts: list[str]) -> Row:
    if letter == "G":
        divisor, *pairs = parts
        return rounded(model, int(divisor), [*map(_pair, pairs)])
    number, most, *pairs = parts
    return cover(model, int(number), int(most), [*map(_pair, pairs)])


def _pair(text: str) -> tuple[int, int]:
    first, second = text.split(":")
    return int(first), int(second)


def second_checkers(given: list[tuple[Statement, list[str]]]) -> Iterator[dict[str, Any]]:
    """Yield the models of the second checker."""
    lines = []
    for item, derived in given:
        options = dict(item.formulation)
        name = options.pop("name")
        del options["version"]
        document = {
            "problem": item.problem,
            "name": name,
            "instance": item.instance,
            "resources": item.resources,
            "options": options,
            "derived": derived,
        }
        lines.append(json.dumps(document))
    done = subprocess.run(
        [needs_node(), str(LISTER)],
        input="\n".join(lines),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stderr == ""
    yield from map(json.loads, done.stdout.splitlines())


@pytest.mark.parametrize("problem", PROBLEMS)
def test_both_build_the_same_model(problem: str) -> None:
    chance = random.Random(76)
    given = [(item, records(item.model().model, chance)) for item in statements(problem)]
    known = {name for one, name, _ in FIRST if one == problem}
    assert {item.formulation["name"] for item, _ in given} == known
    refused: Counter[bool] = Counter()
    for (statement, derived), second in zip(given, second_checkers(given), strict=True):
        first = first_checkers(statement, derived)
        assert second == first, (statement.formulation, statement.instance, derived)
        refused.update(first["refused"])
    assert min(refused.values()) > 10
