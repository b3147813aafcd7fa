"""Test vectors of remat-offload-chain, on the chain of `write_vectors`, with 1 byte per ns.

In 25 bytes the step takes 24 ns instead of 22. Stage 1 is saved, and its input of 4 bytes is kept
or offloaded. If it is kept, 25 - 4 - 6 - 14 = 1 byte is free beside the backward of stage 2; if it
is offloaded, 5 are, and 4 have to be back. To pass stage 2 takes 3 ns. To save it leaves no room
for stage 3 where its input is kept, and else at least 2 bytes too few, which wait.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tests.certificates.model_vectors import Row
from tests.certificates.written_certificate import Header, header_of

GBS = 10**9
POINTS = ("o 2 1 0 0:4:2", "o 2 1 4 0:0:2", "o 1 0 0 0:0:2")
PARTS = ("c 1 2 14 0:8", "c 1 3 14 0:3", "o 2 0 0 0:0:7", "o 1 0 0 0:0:13")
# Half a byte per ns: two units of a byte, and one tick of a ns.
SLOW = (
    *("c 2 3 28 0:8", "c 1 2 28 0:21", "c 1 3 28 0:16", "o 4 1 0 6:0:5", "o 3 0 0 11:0:5"),
    *("o 2 0 0 6:0:16", "o 1 0 0 0:0:26"),
)


def pofo_vectors(chain: Mapping[str, Any]) -> Iterator[Row]:
    """Yield all vectors of the problem."""

    def header(
        time_ns: int | None = 24, memory_bytes: int = 25, link: tuple[int, int] = (1, 1)
    ) -> Header:
        formulation = {"name": "pofo-bellman", "version": 1}
        found = header_of(
            "remat-offload-chain",
            chain,
            memory_bytes=memory_bytes,
            formulation={**formulation, "link_bytes": link[0], "link_ns": link[1]},
            time_ns=time_ns,
            valid_for="pofo",
        )
        found["resources"]["bytes_per_s"] = GBS * link[0] // link[1]
        return found

    def given(head: Header, **changes: Any) -> Header:
        return head | {"resources": head["resources"] | changes}

    def option(head: Header, **changes: Any) -> Header:
        return head | {"formulation": head["formulation"] | changes}

    yield "good-pofo", header(), POINTS, True, "states; the example of the documentation"
    yield "good-pofo-weaker", header(23), POINTS, True, "the states prove more than is claimed"
    yield "good-pofo-nothing", header(22), [], True, "all operations once need no state"
    yield "good-pofo-parts", header(35, 18), PARTS, True, "parts of the backward phase too"
    yield "good-pofo-slow", header(48, 18, (1, 2)), SLOW, True, "two units of a byte"
    faster = option(header(), link_bytes=10**6 + 1, link_ns=10**6)
    yield "bad-pofo-faster-link", faster, POINTS, False, "costs in units of another size"
    slower_given = given(header(), bytes_per_s=GBS - 1)
    yield "good-pofo-faster-link", slower_given, POINTS, True, "a link faster than the one given"
    yield "good-pofo-no-room", header(None, 17), [], True, "stage 1 does not fit"
    narrow = {"input_bytes": 0, "stages": [dict(stage) for stage in chain["stages"][2:]]}
    narrow["stages"][0] |= {"output_bytes": 1, "saved_bytes": 4, "forward_overhead_bytes": 1}
    narrow["stages"][1] |= {"backward_overhead_bytes": 1}
    none = _about(header(None, 5), chain | narrow)
    steps = ["c 1 1 5 0:1", "o 1 0 0 0:0:1"]
    yield "good-pofo-infeasible", none, steps, True, "each operation fits, and no schedule does"
    yield "bad-pofo-infeasible", none, steps[1:], False, "stage 1 may be passed"
    floor = header(None, 17) | {"formulation": {"name": "memory-floor", "version": 1}}
    floor |= {"valid_for": "all schedules"}
    yield "good-offload-floor", floor, ["f 1:1"], True, "stage 1 needs 18 bytes"
    wide = given(floor, memory_bytes=18)
    yield "bad-offload-floor", wide, ["f 1:1"], False, "each operation fits"

    def bad(number: int, head: Header, lines: Sequence[str], reason: str) -> Row:
        return f"bad-pofo-{number:02}", head, lines, False, reason

    def instead(place: int, line: str) -> list[str]:
        return [*POINTS[:place], line, *POINTS[place + 1 :]]

    yield bad(0, header(25), POINTS, "the states prove 24 ns")
    yield bad(1, header(24, 26), POINTS, "in 26 bytes less waits")
    yield bad(2, header() | {"valid_for": "persistent"}, POINTS, "it holds for pofo")
    yield bad(3, header() | {"valid_for": "all schedules"}, POINTS, "it holds for pofo")
    yield bad(4, given(header(), bytes_per_s=GBS + 1), POINTS, "the link given is faster")
    yield bad(5, option(header(), link_bytes=0), POINTS, "a link that moves nothing")
    yield bad(6, option(header(), slots=1), POINTS, "no such option")
    yield bad(7, header() | {"scale_bits": 1}, POINTS, "a dynamic program has none")
    yield bad(8, given(header(), total_bytes_per_s=GBS), POINTS, "no such resource")
    missing = header()
    missing["resources"] = {"memory_bytes": 25}
    yield bad(9, missing, POINTS, "there is no link")
    yield bad(10, header(None), POINTS, "there are schedules")
    yield bad(11, header(), POINTS[::-1], "states rest on what comes after them")
    yield bad(12, header(), POINTS[1:], "a state that others rest on is left out")
    yield bad(13, header(), instead(0, "o 2 1 0 0:4:3"), "only 2 bytes wait")
    yield bad(14, header(), instead(0, "o 2 1 0 0:3:2"), "with 3 bytes to be back, 1 waits")
    yield bad(
        15, header(), instead(0, "o 2 1 0 0:4:2 0:0:2"), "with nothing to be back, 1 byte waits"
    )
    yield bad(16, header(), instead(0, "o 2 2 0 0:4:2"), "no such input")
    yield bad(17, header(), instead(2, "o 1 1 0 0:0:2"), "stage 1 reads what is not saved")
    yield bad(18, header(), [*POINTS[:2], POINTS[1], POINTS[2]], "a state twice")
    yield bad(19, header(), [POINTS[1], POINTS[0], POINTS[2]], "what is kept does not ascend")
    yield bad(20, header(), instead(0, "o 2 1 0 4:2"), "a pair for a triple")
    yield bad(21, header(), instead(0, "o 2 1 0 0:4:2 0:0:0"), "a cost of 0")
    yield bad(22, header(), instead(0, "o 2 1 0 -1:4:2"), "an amount below 0")
    yield bad(23, header(), instead(0, "o 5 1 0 0:4:2"), "there is no stage 5")
    yield bad(24, header(), instead(0, "p 2 1 0 0:4:2"), "no such record")
    yield bad(25, header(), instead(0, "o 2 1 0"), "no point")
    yield bad(26, header(35, 18), PARTS[1:], "a part that others rest on is left out")
    yield bad(27, header(35, 18), ["c 1 2 20 0:1", *PARTS], "in 20 bytes both are saved")
    yield bad(28, header(35, 18), ["c 1 2 18 0:3", *PARTS], "stage 1 may be passed for 2")
    doubled = [PARTS[0], "c 1 2 14 0:7", *PARTS[1:]]
    yield bad(29, header(35, 18), doubled, "the memories do not descend")
    yield bad(30, header(35, 18), ["c 2 1 14 0:8", *PARTS], "no sub-chain")
    yield bad(31, header(48, 18, (1, 2)), PARTS, "a byte has two units")


def _about(header: Header, instance: Mapping[str, Any]) -> Header:
    """Return a header about another instance, with its hash."""
    other = header_of(
        header["problem"],
        instance,
        memory_bytes=0,
        formulation=header["formulation"],
        time_ns=None,
        valid_for=header["valid_for"],
    )
    return header | {key: other[key] for key in ("instance", "instance_sha256")}
