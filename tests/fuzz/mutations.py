"""Mutations of a file: fields of another kind, missing, doubled; bytes changed or cut."""

from __future__ import annotations

import copy
import json
from typing import Any

from hypothesis import strategies as st

_LEAVES = st.one_of(
    st.none(),
    st.booleans(),
    st.sampled_from(
        [0, -1, 1, 2, 2**31, 2**53 - 1, 2**53, 2**63, 2**64, 10**30, 1.5, -0.0, 1e300, 1e-300]
    ),
    st.sampled_from(["", "a", "\0", "é", "-1", "1e9", "../x", "x" * 1000, "%", "nan", "\n"]),
    st.integers(),
    st.text(max_size=4),
)
_VALUES = st.recursive(
    _LEAVES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=4,
)
_ACTIONS = ("replace", "replace", "replace", "remove", "double", "rename", "borrow")


def _places(value: Any) -> list[tuple[Any, Any]]:
    """Return every container with each of its keys."""
    found: list[tuple[Any, Any]] = []
    items: Any = ()
    if isinstance(value, dict):
        items = value.items()
    elif isinstance(value, list):
        items = enumerate(value)
    for key, inner in items:
        found.append((value, key))
        found += _places(inner)
    return found


@st.composite
def changed_documents(draw: st.DrawFn, text: bytes) -> bytes:
    """Change some fields of a JSON document; it stays JSON."""
    document = json.loads(text)
    for _ in range(draw(st.integers(1, 3))):
        places = _places(document)
        if not places:
            break
        container, key = places[draw(st.integers(0, len(places) - 1))]
        action = draw(st.sampled_from(_ACTIONS))
        if action == "replace":
            container[key] = draw(_VALUES)
        elif action == "remove":
            del container[key]
        elif action == "borrow":
            other, place = places[draw(st.integers(0, len(places) - 1))]
            container[key] = copy.deepcopy(other[place])
        elif isinstance(container, list):
            container.insert(draw(st.integers(0, len(container))), container[key])
        else:
            container[draw(st.text(max_size=3))] = container[key]
            if action == "rename":
                del container[key]
    return json.dumps(document).encode()


@st.composite
def changed_bytes(draw: st.DrawFn, data: bytes) -> bytes:
    """Change, insert, remove or repeat some bytes."""
    for _ in range(draw(st.integers(1, 3))):
        first = draw(st.integers(0, len(data)))
        last = min(len(data), first + draw(st.sampled_from([0, 1, 1, 2, 8, 100, 10_000])))
        put = draw(
            st.one_of(
                st.binary(max_size=3),
                st.sampled_from([b"", b"0", b"-", b"9" * 30, b'"', b"[", b"\n", b"{", b"\xff"]),
                st.just(data[first:last] * 2),
            )
        )
        data = data[:first] + put + data[last:]
    return data


def changed_files(name: str, data: bytes) -> st.SearchStrategy[bytes]:
    """Change a file of the corpus; JSON in both ways."""
    if name.endswith(".json"):
        return changed_documents(data) | changed_bytes(data)
    return changed_bytes(data)
