"""Test vectors of weight-offload, sharding, remat-sharding and three-partition, by hand.

**Weights.** Two layers of 4 bytes of weights, and operations of 1 ns, on a link of 1 byte per ns,
in 13 of the 16 bytes that hold all of them. Each layer has to move while the other one computes:
twice 4 bytes, which is all that `cover` says. The others know more: 9 ns, with `whole` 10.

**Sharding.** `p` and `q` are both there at time 1. In 4 bytes p has to take its second strategy, of
1 byte for 3 ns. Of q the second is forbidden, and the third beside that of p; the first takes 2 ns,
and 1 more along the edge: 6 ns in all.

**KIWI.** Two forward operators and their backwards. In 3 bytes the fastest plan takes 8 ns, two of
them for computing again.

**3-PARTITION.** The 6 lacks a 3 beside a 4, and no two others sum to 7.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from typing import Any

from tests.certificates.written_certificate import Header, header_of

# A file, its header and lines, whether it proves its claim, and why it does or does not.
Row = tuple[str, Header, Sequence[str], bool, str]


def _instance(kind: str, **fields: Any) -> dict[str, Any]:
    return {"format": "jettison", "kind": kind, "version": 1, "name": "by-hand", **fields}


def _layer(name: str, output_bytes: int) -> dict[str, Any]:
    durations = {"forward_ns": 1, "backward_ns": 1}
    sizes = {"output_bytes": output_bytes, "saved_bytes": 1, "weight_bytes": 4}
    return {"name": name, **durations, **sizes}


def _strategy(name: str, compute_ns: int | None, memory_bytes: int, more_ns: int = 0) -> Any:
    times = {"compute_ns": compute_ns, "communication_ns": more_ns}
    return {"name": name, **times, "memory_bytes": memory_bytes}


def _operator(name: str, role: str, inputs: Sequence[str], *strategies: Any, **more: Any) -> Any:
    fields = {"inputs": [*inputs], "strategies": [*strategies]}
    return {"name": name, "role": role, **fields, **more}


CHAIN = _instance("chain", input_bytes=1, stages=[_layer("a", 1), _layer("loss", 0)])
GRAPH = _instance(
    "strategy-graph",
    nodes=[
        {"name": "p", "interval": [0, 2], "costs_ns": [1, 3], "usages_bytes": [4, 1]},
        {"name": "q", "interval": [1, 3], "costs_ns": [2, None, 4], "usages_bytes": [3, 0, 2]},
    ],
    edges=[{"first": "q", "second": "p", "costs_ns": [0, 1, 0, 0, 5, None]}],
)
_SPLIT, _WHOLE = _strategy("split", 1, 1), _strategy("whole", 1, 2)
SHARDED = _instance(
    "sharded-graph",
    operators=[
        _operator("x", "forward", [], _strategy("whole", 2, 2), _strategy("split", 3, 1, 1)),
        _operator("y", "forward", ["x"], _WHOLE, _strategy("split", 2, 1)),
        _operator("dy", "backward", ["y"], _WHOLE, _SPLIT),
        _operator("dx", "backward", ["x", "dy"], _WHOLE, _SPLIT, keep=True),
    ],
    resharding=[
        {"source": "x", "target": "y", "cost_ns": [[0, 3], [1, 0]]},
        {"source": "dy", "target": "dx", "cost_ns": [[0, 2], [None, 0]]},
    ],
)
ITEMS = _instance("three-partition", target=13, values=[4, 4, 4, 4, 4, 6])

COVER = ("l 0:4 1:4",)
AGGREGATED = ("l 0:-1 3:-1 4:-1 12:1 13:1 16:-1 17:-1 28:1 32:1 38:1 39:-4 42:4",)
WHOLE = (
    "l 4:-3 5:4 9:1 10:1 12:1 13:1 16:-1 17:-1 20:-1 23:-2 25:1 26:1 27:3 31:1 32:2 34:1 37:3 "
    "38:3 47:-24 48:-12 49:12 50:12",
)
MILP = (
    "b gone0_2 0",
    "f 14:1 25:1 39:-1",
    "l 5:1 6:1 14:-1 15:-1 16:-1 21:-1 25:1 31:1 39:1 43:1",
)
CUTS = ["3a", "3b", "7'", "6c"]
CHOICE = ("l 0:3 1:4 2:-1 4:1 6:1",)
FIXED = (
    "x 0:3 1:4 2:-1 4:1 6:1 | 5=0",
    "b s_0_0 0",
    "l 0:2 2:-2 3:-1 4:2 6",
    "f 0:1 2:1 3:1 4:-1 6:1",
)
KIWI = ("l 0:8 1:2 2:1 3:1 12:-1 16:1 17:2 24:1 25:4",)
NO_ITEMS = ("f 5:1 11:4 17:-1",)


def _offload(name: str, time_ns: int | None, *, bits: int = 0, **options: Any) -> Header:
    formulation = {"name": name, "version": 1, **options}
    header = _header("weight-offload", CHAIN, formulation, time_ns, "all schedules")
    return header | {"resources": {"memory_bytes": 13, "bytes_per_s": 10**9}, "scale_bits": bits}


def _choice(time_ns: int | None, memory_bytes: int, instance: Any = GRAPH) -> Header:
    formulation = {"name": "strategy-choice", "version": 1}
    header = _header("sharding", instance, formulation, time_ns, "all schedules")
    return header | {"resources": {"memory_bytes": memory_bytes}}


def _sharded(
    name: str, time_ns: int | None, memory_bytes: int, valid_for: str, instance: Any = SHARDED
) -> Header:
    header = _header("remat-sharding", instance, {"name": name, "version": 1}, time_ns, valid_for)
    return header | {"resources": {"memory_bytes": memory_bytes}}


def _partition(name: str, instance: Any = ITEMS, time_ns: int | None = None) -> Header:
    formulation = {"name": name, "version": 1}
    header = _header("three-partition", instance, formulation, time_ns, "all partitions")
    return header | {"resources": {}}


def _header(
    problem: str, instance: Any, formulation: Any, time_ns: int | None, valid_for: str
) -> Header:
    return header_of(
        problem,
        instance,
        memory_bytes=0,
        formulation=formulation,
        time_ns=time_ns,
        valid_for=valid_for,
    )


def model_vectors() -> Iterator[Row]:
    """Yield all rows."""
    for file, header, lines, reason in _good():
        yield f"good-{file}", header, lines, True, reason
    for file, header, lines, reason in (*_bad_weights(), *_bad_choices(), *_bad_items()):
        yield f"bad-{file}", header, lines, False, reason


_Part = tuple[str, Header, Sequence[str], str]

_FOLLOWER = _operator("y", "forward", ["x"], _WHOLE, follows="x")

# What is wrong with an instance: where, and what stands there.
_BAD_GRAPHS: tuple[tuple[str, str, tuple[str | int, ...], Any], ...] = (
    ("none", "no nodes", ("nodes",), []),
    ("interval", "an interval that ends before it begins", ("nodes", 0, "interval"), [2, 0]),
    ("interval-long", "three times", ("nodes", 0, "interval"), [0, 1, 2]),
    ("costs", "more usages than costs", ("nodes", 0, "costs_ns"), [1]),
    ("usage", "null is no usage", ("nodes", 0, "usages_bytes"), [4, None]),
    ("name", "two nodes have one name", ("nodes", 1, "name"), "p"),
    ("node-field", "an unknown field", ("nodes", 0, "time"), 1),
    ("edge-costs", "five costs of six pairs", ("edges", 0, "costs_ns"), [0, 1, 0, 0, 5]),
    ("edge-rows", "costs in rows", ("edges", 0, "costs_ns"), [[0, 1], [0, 0], [5, None]]),
    ("edge-loop", "an edge from a node to itself", ("edges", 0, "first"), "p"),
    ("edge-unknown", "there is no node r", ("edges", 0, "second"), "r"),
)
_BAD_SHARDED: tuple[tuple[str, str, tuple[str | int, ...], Any], ...] = (
    ("none", "no operators", ("operators",), []),
    ("role", "no such role", ("operators", 0, "role"), "loss"),
    ("parameter", "a parameter that reads", ("operators", 1, "role"), "parameter"),
    ("order", "a forward operator after a backward one", ("operators", 3, "role"), "forward"),
    ("input", "x reads what comes after it", ("operators", 0, "inputs"), ["y"]),
    ("follows", "x follows what comes after it", ("operators", 0, "follows"), "y"),
    ("strategies", "no strategies", ("operators", 0, "strategies"), []),
    ("leader", "fewer strategies than x", ("operators", 1), _FOLLOWER),
    ("size", "null is no size", ("operators", 0, "strategies", 0, "memory_bytes"), None),
    ("keep", "1 is no flag", ("operators", 3, "keep"), 1),
    ("table", "x does not read dy", ("resharding", 0, "source"), "dy"),
    ("table-twice", "two tables of one pair", ("resharding", 1), SHARDED["resharding"][0]),
    ("table-shape", "a row too few", ("resharding", 0, "cost_ns"), [[0, 3]]),
    ("table-list", "no rows", ("resharding", 0, "cost_ns"), [0, 3, 1, 0]),
)


def _with(instance: Any, place: tuple[str | int, ...], value: Any) -> Any:
    """Return an instance of which one part is another."""
    changed = copy.deepcopy(instance)
    part = changed
    for key in place[:-1]:
        part = part[key]
    part[place[-1]] = value
    return changed


def _good() -> Iterator[_Part]:
    yield "cover", _offload("cover", 8), COVER, "each layer moves while the other computes"
    yield "aggregated", _offload("aggregated", 9), AGGREGATED, "equations, continuous columns"
    whole = _offload("aggregated", 10, bits=1, whole=True)
    yield "aggregated-whole", whole, WHOLE, "whole weights; multipliers are halves"
    milp = _offload("milp", 9, cuts=CUTS)
    yield "milp", milp, MILP, "a branch; a leaf f of equations"
    yield "choice", _choice(6, 4), CHOICE, "one leaf; an edge whose nodes are exchanged"
    yield "choice-fixed", _choice(6, 5), FIXED, "a choice that costs too much is fixed"
    yield "choice-infeasible", _choice(None, 2), ["f 6:1"], "the least usages exceed the memory"
    yield "kiwi", _sharded("kiwi-reduced-compact", 8, 3, "kiwi-reduced"), KIWI, "computed again"
    none = _sharded("kiwi-reduced-compact", None, 2, "kiwi-reduced")
    yield "kiwi-infeasible", none, ["f 25:1"], "dx and what it reads do not fit"
    only = _sharded("sharding-only", 5, 0, "all schedules")
    yield "sharding-only", only, ["l 0:2 1:1 2:1 3:1"], "all operators, each the fastest way"
    floor = _sharded("memory-floor", None, 2, "in-order")
    yield "sharded-floor", floor, ["f 3:1"], "dx and what it reads do not fit"
    yield "triples", _partition("triples"), ["f 0:1"], "no triple has a 4"
    assigned = _partition("assignment")
    yield "assignment", assigned, NO_ITEMS, "the group of the last item"


def _bad_weights() -> Iterator[_Part]:
    yield "cover-claim", _offload("cover", 9), COVER, "it proves 8"
    more = _offload("cover", 8) | {"resources": {"memory_bytes": 16, "bytes_per_s": 10**9}}
    yield "cover-memory", more, COVER, "all weights fit"
    faster = _offload("cover", 8) | {"resources": {"memory_bytes": 13, "bytes_per_s": 2 * 10**9}}
    yield "cover-link", faster, COVER, "the link moves two bytes per ns"
    none = _offload("cover", 8) | {"resources": {"memory_bytes": 13}}
    yield "link-missing", none, COVER, "there is no link"
    zero = _offload("cover", 8) | {"resources": {"memory_bytes": 13, "bytes_per_s": 0}}
    yield "link-zero", zero, COVER, "a link of 0 bytes per s"
    yield "cover-option", _offload("cover", 8, whole=True), COVER, "an unknown option"
    yield "aggregated-claim", _offload("aggregated", 10), AGGREGATED, "it proves 9"
    yield "aggregated-whole-class", _offload("aggregated", 9), WHOLE, "rows of another option"
    flag = _offload("aggregated", 9, whole=1)
    yield "aggregated-flag", flag, AGGREGATED, "1 is no flag"
    real = ["b c_1 0", *AGGREGATED, "l"]
    yield "aggregated-branch", _offload("aggregated", 9), real, "a branch on a continuous column"
    fixed = ["x 0:-1 | 4=0", *AGGREGATED]
    yield "aggregated-fixed", _offload("aggregated", 9), fixed, "a continuous column is fixed"
    cover = ["K 0 0 0:1", *AGGREGATED]
    yield "aggregated-cover", _offload("aggregated", 9), cover, "row 0 is an equation"
    yield "milp-claim", _offload("milp", 10, cuts=CUTS), MILP, "it proves 9"
    yield "milp-cuts", _offload("milp", 9), MILP, "there are no rows of cuts"
    unknown = _offload("milp", 9, cuts=["7"])
    yield "milp-cut-unknown", unknown, MILP, "there is no such cut"
    swapped = [MILP[0], MILP[2], MILP[1]]
    yield "milp-leaves", _offload("milp", 9, cuts=CUTS), swapped, "the leaves are exchanged"


def _bad_choices() -> Iterator[_Part]:
    yield "choice-claim", _choice(7, 4), CHOICE, "it proves 6"
    yield "choice-memory", _choice(6, 6), CHOICE, "p may take its first strategy"
    yield "choice-fits", _choice(None, 3), ["f 6:1"], "the least usages fit"
    wrong = ["x 0:3 1:4 2:-1 4:1 6:1 | 1=0", *FIXED[1:]]
    yield "choice-fixed", _choice(6, 5), wrong, "p may take its second strategy"
    for file, reason, place, value in _BAD_GRAPHS:
        header = _choice(0, 4, _with(GRAPH, place, value))
        yield f"choice-{file}", header, ["l"], reason
    kiwi = _sharded("kiwi-reduced-compact", 9, 3, "kiwi-reduced")
    yield "kiwi-claim", kiwi, KIWI, "it proves 8"
    yield "kiwi-memory", _sharded("kiwi-reduced-compact", 8, 4, "kiwi-reduced"), KIWI, "7 ns do"
    wider = _sharded("kiwi-reduced-compact", 8, 3, "all schedules")
    yield "kiwi-class", wider, KIWI, "the formulation holds for kiwi-reduced"
    floor = _sharded("memory-floor", None, 3, "in-order")
    yield "sharded-floor", floor, ["f 3:1"], "dx and what it reads fit"
    only = _sharded("sharding-only", 6, 0, "all schedules")
    yield "sharding-only-claim", only, ["l 0:2 1:1 2:1 3:1"], "it proves 5"
    for file, reason, place, value in _BAD_SHARDED:
        instance = _with(SHARDED, place, value)
        header = _sharded("kiwi-reduced-compact", 0, 3, "kiwi-reduced", instance)
        yield f"sharded-{file}", header, ["l"], reason


def _bad_items() -> Iterator[_Part]:
    yield "triples-time", _partition("triples", time_ns=1), ["l"], "a leaf that proves 0"
    yield "triples-leaf", _partition("triples"), ["f 0:-1"], "a multiplier of the wrong sign"
    resources = _partition("triples") | {"resources": {"memory_bytes": 0}}
    yield "triples-memory", resources, ["f 0:1"], "no resources are known"
    for file, reason, changes in (
        ("sum", "the values sum to 27", {"values": [4, 4, 4, 4, 5, 6]}),
        ("quarter", "3 is below a quarter of 13", {"values": [3, 4, 5, 4, 4, 6]}),
        ("half", "7 is above half of 13", {"values": [4, 4, 5, 7, 2, 4]}),
        ("count", "four values are no triples", {"values": [4, 4, 4, 4]}),
        ("none", "no values", {"values": []}),
    ):
        instance = ITEMS | changes
        yield f"triples-{file}", _partition("triples", instance, 0), ["l"], reason
