"""Writes the test vectors: small certificates by hand, and what a checker has to say of each.

Run as ``python -m tests.certificates.write_vectors``. A checker in any language can be tried on the
files of `vectors/`; `vectors.json` has for each its verdict, and why.

The chain has stages of 2, 3 and 5 ns, 4 bytes of output and 6 saved each, and a loss of 1 ns; its
input has 4 bytes, and all operations once take 22 ns. In 28 bytes a cut at stage 3 leaves
28 - 4 - 6 - (4 + 4) = 10 for `saved_1`, `saved_2` (6 each) and `plain` (4): divided by 2,
3 s1 + 3 s2 + 2 p <= 5, with s2 + p >= 1. The offset is 22 + 5, so that for 24 ns -2 s1 - 3 s2 has
to exceed 24 - 1 - 27 = -4.
"""

from __future__ import annotations

import copy
import gzip
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from jettison.certificates.claim import instance_sha256
from tests.certificates.model_vectors import model_vectors
from tests.certificates.pofo_vectors import pofo_vectors
from tests.certificates.training_vectors import training_vectors
from tests.certificates.unit_vectors import unit_vectors
from tests.certificates.written_certificate import Header, header_of, text_of

FOLDER = Path(__file__).parent / "vectors"

_STAGES = (("a", 2, 4, 6), ("b", 3, 4, 6), ("c", 5, 4, 6), ("loss", 1, 0, 0))
CHAIN: dict[str, Any] = {
    "format": "jettison",
    "kind": "chain",
    "version": 1,
    "name": "by-hand",
    "input_bytes": 4,
    "stages": [
        {
            "name": name,
            "forward_ns": duration,
            "backward_ns": duration,
            "output_bytes": output,
            "saved_bytes": saved,
        }
        for name, duration, output, saved in _STAGES
    ],
}
GRAPH: dict[str, Any] = {
    "format": "jettison",
    "kind": "graph",
    "version": 1,
    "name": "three",
    "nodes": [
        {"name": "p", "duration_ns": 1, "output_bytes": 1},
        {"name": "q", "duration_ns": 1, "output_bytes": 1},
        {"name": "r", "duration_ns": 1, "output_bytes": 0, "inputs": ["p"]},
    ],
}
STEPS = ("p 3 4 12:2", "p 2 4 18:2", "p 1 4 24:2")
# In 22 bytes, 18 beside the input, schedules without drops take no less either.
DROPS = (
    "C1 3 3 10:1",
    "C0 3 3 13:2",
    "C0 2 2 13:2",
    "E1 2 3 18:2",
    "C1 3 4 13:2",
    "C1 2 3 14:4",
    "C0 3 4 13:7",
    "C0 1 2 18:2",
    "C1 1 3 18:2",
    "E0 2 4 18:5",
    "C0 2 4 14:7",
    "C0 1 4 18:7",
)
BRANCHES = ("b saved_1 0", "l", "b saved_2 0", "l", "f 0:1")
ONE = 1 << 30


class Vector(NamedTuple):
    """A file, its bytes, whether it proves its claim, and why it does or does not."""

    file: str
    data: bytes
    is_proved: bool
    reason: str


def vectors() -> Iterator[Vector]:
    """Yield all vectors."""
    yield from _good()
    yield from _bad_headers()
    yield from _bad_files()
    yield from _bad_programs()
    yield from _bad_drops()
    yield from _bad_trees()
    for row in (*model_vectors(), *pofo_vectors(CHAIN), *training_vectors(), *unit_vectors()):
        yield _vector(*row)


def _program(time_ns: int | None = 24, memory_bytes: int = 28, **changes: Any) -> Header:
    return header_of(
        "remat-chain",
        CHAIN | changes,
        memory_bytes=memory_bytes,
        formulation={"name": "persistent-bellman", "version": 1},
        time_ns=time_ns,
        valid_for="persistent",
    )


def _drops(time_ns: int | None = 24, memory_bytes: int = 28) -> Header:
    return header_of(
        "remat-chain",
        CHAIN,
        memory_bytes=memory_bytes,
        formulation={"name": "drops-bellman", "version": 1},
        time_ns=time_ns,
        valid_for="persistent with drops",
    )


def _cut(time_ns: int = 24) -> Header:
    return header_of(
        "remat-chain",
        CHAIN,
        memory_bytes=28,
        formulation={"name": "chain-cut", "version": 1, "stage": 3},
        time_ns=time_ns,
        valid_for="all schedules",
    )


def _graph(time_ns: int | None = 4, memory_bytes: int = 1, **formulation: Any) -> Header:
    return header_of(
        "remat-graph",
        GRAPH,
        memory_bytes=memory_bytes,
        formulation={"name": "windowed-frontier", "version": 1, "cuts": [1], **formulation},
        time_ns=time_ns,
        valid_for="in-order",
        scale_bits=30,
    )


def _vector(file: str, header: Header, lines: Sequence[str], proved: bool, reason: str) -> Vector:
    return Vector(file, text_of(header, lines).encode("ascii"), proved, reason)


def _good() -> Iterator[Vector]:
    def good(file: str, header: Header, lines: Sequence[str], reason: str) -> Vector:
        return _vector(f"good-{file}", header, lines, True, reason)

    leaf = f"l 0:{ONE} 1:{ONE}"
    yield good("graph-leaf", _graph(), [leaf], "one leaf; the example of the documentation")
    yield good("program", _program(), STEPS, "a dynamic program; the example of the documentation")
    yield good("program-weaker", _program(23), STEPS, "the steps prove more than is claimed")
    yield good("program-nothing", _program(22), [], "all operations once need no step")
    yield good("program-no-room", _program(None, 3), [], "the input alone exceeds the memory")
    # In 17 bytes, 13 beside the input, the backward of stage 3 does not fit, however it begins.
    infeasible = [f"p {part} 13:1" for part in ("3 3", "3 4", "2 3", "2 4", "1 3", "1 4")]
    yield good("program-infeasible", _program(None, 17), infeasible, "without durations")
    layers = [stage | {"output_gradient_bytes": 1} for stage in CHAIN["stages"][:-1]]
    small = _program(24, 22, stages=[*layers, CHAIN["stages"][-1]])
    lessened = ("p 3 4 6:2", "p 2 4 12:2", "p 1 4 18:2")
    yield good("program-gradients", small, lessened, "gradients smaller than outputs")
    yield good("drops", _drops(29, 22), DROPS, "steps of all four tables")
    kept = [f"C0{step[1:]}" for step in STEPS]
    yield good("drops-by-hand", _drops(), kept, "where drops are of no use")
    none = [f"C{p} 1 {t} 13:1" for t in (1, 2, 3, 4) for p in (1, 0)][1:]
    yield good("drops-infeasible", _drops(None, 17), none, "without durations")
    flagged = _program(22, 24, backward_overhead_holds_gradient=True)
    yield good("program-flag", flagged, [], "a flag is set")
    named = copy.deepcopy(CHAIN["stages"])
    named[0]["name"] = 'caf\u00e9 "\\/\t\x7f \U0001f600'
    yield good(
        "hash-of-any-text", _program(22, 28, stages=named), [], "escapes in the canonical text"
    )
    zeros = [stage | {"weight_bytes": 0} for stage in CHAIN["stages"]]
    yield good("hash-of-defaults", _program(22, 28, stages=zeros), [], "a default that is written")
    provenance = _program(22, 28, provenance={"any": [1.5, None, {"thing": True}]})
    yield good("provenance", provenance, [], "any JSON; no part of the hash")
    yield good("cut-branches", _cut(), BRANCHES, "two branches, leaves of both kinds")
    yield good("cut-rounding", _cut(), ["G 3 0:1", "l 2:3"], "the memory divided by 3")
    yield good("cut-cover", _cut(), ["K 0 1 0:1 1:1", "l 2:3"], "two items of 3 exceed 5")
    fixed = ["x 0:1 | 2=0", "b saved_1 0", "l 0", "f 0:1 1:3"]
    yield good("cut-fixed", _cut(), fixed, "plain costs too much; a leaf resets a multiplier")
    floor = _graph(None, 0)
    floor["formulation"] = {"name": "memory-floor", "version": 1}
    floor["valid_for"] = "all schedules"
    yield good("floor", floor, ["f 0:1"], "node p does not fit in no memory")
    data = gzip.compress(text_of(_program(), STEPS).encode("ascii"), mtime=0)
    yield Vector("good-compressed.gz", data, True, "compressed")
    yield Vector("good-padded.gz", data + bytes(5), True, "zero bytes after the compressed data")


def _bad_headers() -> Iterator[Vector]:
    def bad(file: str, reason: str, **changes: Any) -> Vector:
        return _vector(f"bad-{file}", _program() | changes, STEPS, False, reason)

    def about(file: str, reason: str, instance: dict[str, Any]) -> Vector:
        changes = {"instance": instance, "instance_sha256": instance_sha256(instance)}
        return bad(file, reason, **changes)

    yield bad("claim", "the steps prove 24 ns", claim={"time_ns": 25})
    yield bad("claim-twice", "two claims", claim={"time_ns": 24, "infeasible": True})
    yield bad("claim-false", "infeasible has to be true", claim={"infeasible": False})
    yield bad("claim-flag", "true is no integer", claim={"time_ns": True})
    other = copy.deepcopy(CHAIN)
    other["stages"][2]["forward_ns"] = 1
    yield bad("hash", "the instance has another hash", instance=other)
    yield about("ten-fold", "the recomputation of stage 3 costs less", other)
    yield bad("class", "the formulation holds for persistent", valid_for="all schedules")
    yield bad("header-field", "an unknown field", comment="")
    yield bad("memory", "in 29 bytes the steps say nothing", resources={"memory_bytes": 29})
    yield bad("memory-missing", "there is no memory", resources={})
    yield bad("resource", "an unknown field", resources={"memory_bytes": 28, "bytes_per_s": 1})
    for field, value in (("cuts", [1]), ("version", 2), ("name", "persistent")):
        formulation = {"name": "persistent-bellman", "version": 1, field: value}
        yield bad(f"formulation-{field}", "no such formulation", formulation=formulation)
    yield bad("scale-bits", "a dynamic program has none", scale_bits=1)
    yield about("instance-field", "an unknown field", CHAIN | {"memory_bytes": 28})
    yield about("instance-format", "another format", CHAIN | {"format": "other"})
    yield about("instance-kind", "another kind", CHAIN | {"kind": "graph"})
    yield about("instance-version", "another version", CHAIN | {"version": 2})
    yield about("instance-nameless", "no name", {k: CHAIN[k] for k in CHAIN if k != "name"})
    stages = [stage | {"gradient_bytes": 0} for stage in CHAIN["stages"]]
    yield about("stage-field", "an unknown field", CHAIN | {"stages": stages})
    yield about("stage-none", "no stages", CHAIN | {"stages": []})
    yield about(
        "stage-loss", "the last stage has an output", CHAIN | {"stages": CHAIN["stages"][:2]}
    )
    yield about("amount-negative", "an amount below 0", CHAIN | {"input_bytes": -1})
    yield about("amount-large", "an amount above 2^80", CHAIN | {"input_bytes": 2**80 + 1})
    yield about("amount-null", "null is no integer", CHAIN | {"input_bytes": None})
    yield about("flag", "1 is no flag", CHAIN | {"backward_overhead_holds_gradient": 1})


def _bad_files() -> Iterator[Vector]:
    text = text_of(_program(), STEPS)

    def bad(file: str, reason: str, old: str, new: str) -> Vector:
        assert old in text
        changed = text.replace(old, new, 1)
        return Vector(f"bad-{file}", changed.encode("latin1"), False, reason)

    yield bad("magic", "another first line", "certificate 1", "certificate 2")
    yield bad(
        "key-twice", "a key stands twice", '"scale_bits": 0', '"scale_bits": 0, "scale_bits": 0'
    )
    yield bad("fraction", "4.0 is no integer", '"input_bytes": 4', '"input_bytes": 4.0')
    yield bad("exponent", "an exponent is no integer", '"time_ns": 24', '"time_ns": 24e0')
    yield bad("not-a-number", "not JSON", '"scale_bits": 0', '"scale_bits": NaN')
    yield bad("long-number", "401 digits", '"scale_bits": 0', f'"scale_bits": {"1" * 401}')
    yield bad("not-json", "a comma too many", '"scale_bits": 0,', '"scale_bits": 0,,')
    yield bad("letter", "a letter outside of ASCII", "a test", "\xe9")
    yield bad("cut-off", "the last line has no end", "24:2\n", "24:2")
    yield bad("carriage-return", "another end of line", "12:2\n", "12:2\r\n")
    yield bad("two-blanks", "two blanks", "p 3 4 ", "p 3 4  ")
    yield bad("empty-line", "an empty line", "p 2 4", "\np 2 4")
    yield bad("leading-zero", "a leading zero", "12:2", "012:2")
    yield bad("plus", "a plus", "12:2", "12:+2")
    data = gzip.compress(text.encode("ascii"), mtime=0)
    yield Vector("bad-truncated.gz", data[:-9], False, "the compressed data are cut off")
    yield Vector("bad-garbage.gz", data + b"more", False, "something follows the compressed data")


def _bad_programs() -> Iterator[Vector]:
    for number, (lines, reason) in enumerate(
        [
            (STEPS[:2], "nothing is said of all stages"),
            (["p 3 4 12:6"], "stage 3 can be passed for 5"),
            (["p 3 4 14:2"], "stage 3 can be saved"),
            (["p 3 4 12:2 13:2"], "costs do not descend"),
            (["p 3 4 12:2 11:1"], "memories do not ascend"),
            (["p 3 4 12"], "a cost of 0"),
            ([STEPS[0], STEPS[0]], "a sub-chain twice"),
            (STEPS[::-1], "a step rests on what comes after it"),
            (["p 0 4 12:2"], "there is no stage 0"),
            (["p 4 3 12:2"], "no sub-chain"),
            (["p 3 4"], "no step"),
            (["q 3 4 12:2"], "no such record"),
        ]
    ):
        yield _vector(f"bad-program-{number:02}", _program(), lines, False, reason)

    # F_all 1 fits into 10 bytes before the gradient of a, of 6 bytes, is there.
    times = {"forward_ns": 1, "backward_ns": 1}
    first = {"name": "a", "output_bytes": 1, "saved_bytes": 3, "forward_overhead_bytes": 3}
    loss = {"name": "loss", "output_bytes": 0, "saved_bytes": 1, "forward_overhead_bytes": 8}
    large = [first | times | {"output_gradient_bytes": 6}, loss | times]
    header = _program(None, 10, input_bytes=0, stages=large)
    lines = ["p 2 2 8:1", "p 1 1 10:1", "p 1 2 10:1"]
    reason = "a larger gradient counts as its output"
    yield _vector("bad-program-gradient", header, lines, False, reason)
    # F_all a takes 3 + 2 bytes and F_ck a 1 + 4, so that all is saved in 5; with 4 for both, F_all
    # would take 7, or 8 beside the gradient.
    own = {"output_bytes": 1, "saved_bytes": 3, "forward_overhead_bytes": 4}
    first = {"name": "a", **times, **own, "saving_overhead_bytes": 2}
    stages = [first, {"name": "loss", "output_bytes": 0, "saved_bytes": 1, **times}]
    held = {"input_bytes": 0, "backward_overhead_holds_gradient": True}
    header = _program(None, 5, stages=stages, **held)
    lines = ["p 1 1 5:1", "p 1 2 5:1"]
    yield _vector("bad-program-saving", header, lines, False, "saving has its own overhead")
    header = _program(None, 4, stages=stages, **held)
    yield _vector("good-program-saving", header, ["p 1 2 4:1"], True, "F_all needs 5 bytes")
    for name, overhead in (("less", 1), ("more", 5)):
        changed = [first | {"saving_overhead_bytes": overhead}, stages[1]]
        header = _program(None, 4, stages=changed, **held)
        reason = "2 to 4 bytes of overhead where it saves"
        yield _vector(f"bad-overhead-{name}", header, ["p 1 2 4:1"], False, reason)
    wrong = [*CHAIN["stages"][:-1], CHAIN["stages"][-1] | {"output_gradient_bytes": 1}]
    header = _program(22, 28, stages=wrong)
    yield _vector("bad-loss-gradient", header, [], False, "the loss has a gradient")


def _bad_drops() -> Iterator[Vector]:
    def bad(number: int, lines: Sequence[str], reason: str, **changes: Any) -> Vector:
        header = _drops(29, 22) | changes
        return _vector(f"bad-drops-{number:02}", header, lines, False, reason)

    def instead(place: int, line: str) -> list[str]:
        return [*DROPS[:place], line, *DROPS[place + 1 :]]

    yield bad(0, DROPS, "the steps prove 29 ns", claim={"time_ns": 30})
    yield bad(1, DROPS, "in 23 bytes the steps say nothing", resources={"memory_bytes": 23})
    yield bad(2, DROPS, "it holds for persistent with drops", valid_for="persistent")
    yield bad(3, DROPS, "it holds for persistent with drops", valid_for="all schedules")
    name = {"name": "persistent-bellman", "version": 1}
    yield bad(4, DROPS, "records of another program", formulation=name, valid_for="persistent")
    yield bad(5, instead(0, "C1 3 3 14:1"), "the backward of stage 3 fits")
    yield bad(6, instead(1, "C0 3 3 14:2"), "stage 3 fits")
    yield bad(7, ["E0 3 3 14:1"], "stage 3 is saved and its input dropped: 4 + 6 + 4 bytes")
    yield bad(8, instead(9, "E0 2 4 18:6"), "stage 3 is passed for 3, and dropped for 2 more")
    yield bad(9, DROPS[::-1], "steps rest on what comes after them")
    yield bad(10, [*DROPS[:4], *DROPS[5:]], "a step that others rest on is left out")
    yield bad(11, ["E2 2 3 18:2"], "no such table")
    yield bad(12, ["C0 1 4 18:7", "C0 1 4 17:7"], "a sub-chain twice")
    yield bad(13, ["C0 3 4 13:7"], "stages 3 and 4 may drop the output of stage 3")
    yield bad(14, DROPS, "there are schedules", claim={"infeasible": True})
    yield bad(15, ["p 3 4 12:2"], "a record of the program without drops")


def _bad_trees() -> Iterator[Vector]:
    for number, (lines, reason) in enumerate(
        [
            (["l"], "the leaf proves -5, not more than -4"),
            (BRANCHES[:-1], "a part of the space stays open"),
            ((*BRANCHES, "l"), "a line after the tree"),
            (["l 0:-1"], "a negative multiplier of an inequality"),
            (["l 0:1 0:1"], "a row twice"),
            (["l 2:1"], "no such row"),
            (["b saved_1 1", *BRANCHES[1:]], "a branch that splits nothing"),
            (["b saved_3 0", *BRANCHES[1:]], "no such column"),
            (["G 0 0:1", "l 2:3"], "divided by 0"),
            (["G 2 0:1", "l 2:3"], "divided by 2 the memory says less"),
            (["G 3 0:-1", "l 2:3"], "a negative weight"),
            (["l 2:3", "G 3 0:1"], "a row that is derived after its use"),
            (["K 0 0 0:1 1:1", "l 2:3"], "one item fits"),
            (["K 0 1 0:1 0:1", "l 2:3"], "a column twice"),
            (["K 1 1 1:1 2:1", "l 2:3"], "columns without weight"),
            (["K 0 1 0 1:1", "l 2:3"], "a profit of 0"),
            (["x 0:1 | 0=0", *BRANCHES[2:]], "saved_1 may be 1"),
            (["x 0:1 | 2=2", *BRANCHES], "no bound of the column"),
            (["x 0:1 | 2=0 2=0", *BRANCHES], "a column that is fixed already"),
            (["f 0:1"], "there are points"),
        ]
    ):
        yield _vector(f"bad-tree-{number:02}", _cut(), lines, False, reason)
    yield _vector("bad-graph-claim", _graph(5), [f"l 0:{ONE} 1:{ONE}"], False, "it takes 4 ns")
    yield _vector("bad-graph-memory", _graph(4, 2), [f"l 0:{ONE} 1:{ONE}"], False, "two values fit")
    no_schedule = _graph(None, 1)
    yield _vector("bad-graph-leaf", no_schedule, [f"l 0:{ONE} 1:{ONE}"], False, "a leaf of costs")
    for file, options in {
        "cuts-descend": {"cuts": [1, 1]},
        "cut-unknown": {"cuts": [3]},
        "cuts-none": {"cuts": []},
        "slot": {"slots": [[1, 0]]},
    }.items():
        header = _graph(3, 1, **options)
        yield _vector(f"bad-graph-{file}", header, ["l"], False, f"{options} cannot be")


def index_text() -> str:
    """Return the text of `vectors.json`."""
    rows = [
        {
            "file": vector.file,
            "verdict": "proved" if vector.is_proved else "refused",
            "reason": vector.reason,
        }
        for vector in vectors()
    ]
    return json.dumps(rows, indent=1) + "\n"


def main() -> None:
    """Write all files."""
    FOLDER.mkdir(exist_ok=True)
    for vector in vectors():
        (FOLDER / vector.file).write_bytes(vector.data)
    (FOLDER / "vectors.json").write_text(index_text(), encoding="ascii")


if __name__ == "__main__":
    main()
