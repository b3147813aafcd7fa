"""Test vectors of multi-model: one model of three operators, with a feature map of 4 bytes.

`f0` makes it in 2 ns, `b0` of 1 ns needs 8 bytes, `b1` of 1 ns reads it. In 10 bytes it cannot stay
beside `b0`: to compute it again takes 3 ns, to copy it 4 ns each way, of which next to nothing is
hidden. So the least time is 2 + 1 + 1 + 3 = 7 ns; the relaxation keeps half of it, and says 6.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from tests.certificates.model_vectors import Row
from tests.certificates.written_certificate import Header, header_of


def _operator(name: str, run_ns: int, peak_bytes: int) -> dict[str, Any]:
    return {"name": name, "run_ns": [run_ns], "peak_bytes": [peak_bytes], "active_bytes": [0]}


MODELS: dict[str, Any] = {
    "format": "jettison",
    "kind": "multi-model",
    "version": 1,
    "name": "by-hand",
    "models": 2,
    "sizes": [1],
    "static_bytes": [0],
    "forward": [_operator("f0", 2, 4)],
    "backward": [_operator("b0", 1, 8), _operator("b1", 1, 4)],
    "feature_maps": [
        {
            "name": "z",
            "size_bytes": [4],
            "made_by": "f0",
            "last_forward": "f0",
            "first_backward": "b1",
            "last_backward": "b1",
            "recompute_ns": [3],
            "recompute_bytes": [0],
        }
    ],
    "bandwidth": 10**9,
}
UNIT = "u 7 30 0:1 0 0,1"
TREE = (
    "b recompute_0_0 0",
    "l 0:8589934592 6:-1073741824 20:1073741824 23:1073741824 25:1073741824",
    "l 0 6 8:-1073741824 9:1073741824 20 23 25",
)
ALONE = (UNIT, *TREE)


def header(
    time_ns: int | None = 7,
    *,
    memory_bytes: int = 10,
    models: int = 1,
    link: tuple[int, int] = (1, 1),
    **changes: Any,
) -> Header:
    """Return the header of a claim, with changes of the instance."""
    formulation = {"name": "training-units", "version": 1}
    found = header_of(
        "multi-model",
        MODELS | changes,
        memory_bytes=memory_bytes,
        formulation={**formulation, "link_bytes": link[0], "link_ns": link[1]},
        time_ns=time_ns,
        valid_for="all schedules",
    )
    found["resources"]["models"] = models
    return found


def unit_vectors() -> Iterator[Row]:
    """Yield all vectors of the problem."""

    def given(head: Header, **changes: Any) -> Header:
        return head | {"resources": head["resources"] | changes}

    def row(file: str, head: Header, lines: Sequence[str], proved: bool, reason: str) -> Row:
        return f"{'good' if proved else 'bad'}-units-{file}", head, lines, proved, reason

    yield row("tree", header(), ALONE, True, "a tree for the only unit")
    yield row("weaker", header(5), ALONE, True, "the tree proves more than is claimed")
    yield row("nothing", header(4), [], True, "the operators once need no tree")
    yield row("no-room", header(None, memory_bytes=7), [], True, "b0 needs 8 bytes")
    yield row("faster-link", header(4, link=(5, 4)), ("u 4 0 0:1 0 0,1", "l 9:1"), True, "5/4 > 1")
    rate = given(header(), bytes_per_s=10**9)
    yield row("rate", rate, ALONE, True, "the link of the instance, written out")
    measured = [MODELS["feature_maps"][0] | {"swap_ns": [4]}]
    yield row("measured", header(feature_maps=measured), ALONE, True, "a measured time of copies")
    quick = [MODELS["feature_maps"][0] | {"swap_ns": [1]}]
    yield row("measured-rate", header(feature_maps=quick), ALONE, False, "4 bytes in 1 ns")
    given_rate = given(header(feature_maps=quick), bytes_per_s=10**9)
    yield row("measured-not", given_rate, ALONE, True, "a rate takes the place of measured times")
    yield row("claim", header(8), ALONE, False, "the tree proves 7 ns")
    yield row("unit-claim", header(8), ("u 8 30 0:1 0 0,1", *TREE), False, "7 ns, not 8")
    yield row("two-models", header(14, models=2), ALONE, False, "the pair may take 8 ns")
    yield row("infeasible", header(None), ALONE, False, "there are schedules")
    yield row("memory", header(memory_bytes=12), ALONE, False, "in 12 bytes everything fits")
    yield row("slower-link", header(link=(1, 2)), ALONE, False, "copies move 1 byte in 1 ns")
    yield row("milestones", header(), ("u 7 30 0:1 0 0", *TREE), False, "b1 is missing")
    yield row("milestones-twice", header(), ("u 7 30 0:1 0 0,0,1", *TREE), False, "b0 twice")
    yield row("no-sub-array", header(), ("u 7 30 0:2 0 0,1", *TREE), False, "there is no 0:2")
    yield row("architecture", header(), ("u 7 30 1:1 0 0,1", *TREE), False, "there is no 1:1")
    yield row("twice", header(), (*ALONE, *ALONE), False, "a unit twice")
    yield row("no-unit", header(), TREE, False, "a tree without its unit")
    yield row("open", header(), ALONE[:-1], False, "a part of the space stays open")
    yield row("no-tree", header(), ALONE[:1], False, "a unit without a tree")
    yield row("rest", header(), (*ALONE, "l"), False, "a line after the tree")
    yield row("bits", header(), ("u 7 257 0:1 0 0,1", *TREE), False, "too many scale bits")
    yield row("short", header(), ("u 7 30 0:1 0", *TREE), False, "milestones of one pass")
    yield row("scale-bits", header() | {"scale_bits": 30}, ALONE, False, "units have their own")
    yield row("class", header() | {"valid_for": "in-order"}, ALONE, False, "of all schedules")
    options = header()["formulation"] | {"milestones": 2}
    yield row("option", header() | {"formulation": options}, ALONE, False, "an unknown option")
    no_link = {key: value for key, value in options.items() if key in {"name", "version"}}
    yield row("no-link", header() | {"formulation": no_link}, ALONE, False, "no rate")
    yield row("too-many", header(models=3), ALONE, False, "there are two models")
    yield row("total", given(header(), total_bytes_per_s=10**9), ALONE, False, "a total alone")
    twice = given(header(), bytes_per_s=10**9, total_bytes_per_s=2 * 10**9)
    yield row("total-twice", twice, ALONE, False, "nothing is shared")
    half = given(header(), bytes_per_s=10**9, total_bytes_per_s=10**9)
    yield row("shared", half, ALONE, True, "copies there and back share the link")
    yield row("sizes", header(sizes=[1, 1]), [], False, "sizes do not ascend")
    yield row("column", header(4, static_bytes=[0, 0]), [], False, "a column too long")
    same = [_operator("f0", 1, 8), _operator("b1", 1, 4)]
    yield row("names", header(4, backward=same), [], False, "two operators of one name")
    lost = [MODELS["feature_maps"][0] | {"made_by": "b0"}]
    yield row("maker", header(4, feature_maps=lost), [], False, "b0 is no forward operator")
    yield row("field", header(4, batch=8), [], False, "an unknown field")
    other = {key: MODELS[key] for key in ("models", "sizes", "static_bytes", "feature_maps")}
    other |= {"name": "other", "forward": MODELS["forward"], "backward": MODELS["backward"]}
    both = header(16, models=4, others=[other])
    yield row("others", both, [], True, "two architectures; each operator once")
    yield row("others-claim", header(17, models=4, others=[other]), [], False, "16 ns of operators")
    yield row("others-models", header(16, models=2, others=[other]), [], False, "four models")
