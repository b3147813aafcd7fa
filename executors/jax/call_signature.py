"""Signature of a loss: the tree of its arguments, which of them are static, what they look like."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp

from jettison.instances.core.errors import InputError


@dataclass(frozen=True, eq=False)
class CallSignature:
    """Signature of calls of a function.

    Attributes
    ----------
    function
        The function.
    num_arguments
        Number of positional arguments.
    static
        Values of the static arguments, by their places.
    tree
        Structure of the other arguments and the keywords.
    paths
        Where each leaf stands, for messages.
    avals
        Shapes and types of the leaves.
    """

    function: Callable[..., Any]
    num_arguments: int
    static: Mapping[int, Any]
    tree: Any
    paths: tuple[str, ...]
    avals: tuple[Any, ...]

    @classmethod
    def of(
        cls,
        function: Callable[..., Any],
        sample: Sequence[Any],
        keywords: Mapping[str, Any],
        static_argnums: Sequence[int],
    ) -> CallSignature:
        """Return the signature of a call with sample arguments.

        Raises
        ------
        InputError
            If a leaf is no array, or there is no static argument of a number.
        """
        for place in static_argnums:
            if not 0 <= place < len(sample):
                raise InputError(
                    f"{place}, of {len(sample)} arguments",
                    field="static_argnums",
                    expected="count the positional arguments from 0",
                )
        static = {place: sample[place] for place in static_argnums}
        traced = tuple(item for place, item in enumerate(sample) if place not in static)
        found, tree = jax.tree_util.tree_flatten_with_path((traced, dict(keywords)))
        places = [place for place in range(len(sample)) if place not in static]
        paths = tuple(_path_text(path, places) for path, _ in found)
        avals = tuple(_aval(leaf, text) for text, (_, leaf) in zip(paths, found, strict=True))
        return cls(function, len(sample), static, tree, paths, avals)

    def leaves_of(self, argument: int) -> list[int]:
        """Return the places of the leaves of a positional argument."""
        start = f"argument {argument}"
        return [
            place
            for place, text in enumerate(self.paths)
            if text == start or text.startswith(f"{start}[") or text.startswith(f"{start}.")
        ]

    def leaves(self, arguments: Sequence[Any], keywords: Mapping[str, Any]) -> list[Any]:
        """Return the leaves of a call.

        Raises
        ------
        InputError
            If the call does not look like the sample.
        """
        if len(arguments) != self.num_arguments:
            raise InputError(
                f"{len(arguments)} arguments",
                field="call",
                expected=f"give {self.num_arguments}, as the sample had",
            )
        for place, value in self.static.items():
            if arguments[place] != value:
                raise InputError(
                    f"{arguments[place]!r}, where the plan is for {value!r}",
                    field=f"argument {place}",
                    expected="make another plan for another static argument",
                )
        traced = tuple(item for place, item in enumerate(arguments) if place not in self.static)
        leaves, tree = jax.tree.flatten((traced, dict(keywords)))
        if tree != self.tree:
            raise InputError(
                f"arguments of the structure {tree}",
                field="call",
                expected=f"give the structure of the sample: {self.tree}",
            )
        arrays = []
        for leaf, aval, text in zip(leaves, self.avals, self.paths, strict=True):
            found = _aval(leaf, text)
            if (found.shape, found.dtype) != (aval.shape, aval.dtype):
                raise InputError(
                    f"{found.dtype}{list(found.shape)}, where the plan is for "
                    f"{aval.dtype}{list(aval.shape)}",
                    field=text,
                    expected="make another plan for other shapes or types",
                )
            arrays.append(leaf if hasattr(leaf, "dtype") else jnp.asarray(leaf))
        return arrays

    def call(self, leaves: Sequence[Any]) -> Any:
        """Return what the function returns for leaves."""
        traced, keywords = jax.tree.unflatten(self.tree, list(leaves))
        left = iter(traced)
        arguments = [
            self.static[place] if place in self.static else next(left)
            for place in range(self.num_arguments)
        ]
        return self.function(*arguments, **keywords)


def _path_text(path: Any, places: Sequence[int]) -> str:
    """Return the place of a leaf in words; its path begins with arguments or keywords."""
    kind, first, *rest = path
    inner = jax.tree_util.keystr(tuple(rest))
    if kind.idx == 0:
        return f"argument {places[first.idx]}{inner}"
    return f"keyword {first.key}{inner}"


def _aval(leaf: Any, text: str) -> Any:
    """Return shape and type of a leaf, which may be given as ``jax.ShapeDtypeStruct``."""
    if isinstance(leaf, jax.ShapeDtypeStruct):
        return leaf
    try:
        aval = jax.typeof(leaf if hasattr(leaf, "dtype") else jnp.asarray(leaf))
    except TypeError:
        raise InputError(
            f"{leaf!r} is not an array",
            field=text,
            expected="give arrays and numbers, and name other arguments in static_argnums",
        ) from None
    return jax.ShapeDtypeStruct(aval.shape, aval.dtype, weak_type=aval.weak_type)
