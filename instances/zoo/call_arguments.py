"""Arguments of a call as a list of tensors, and the tree in which they stand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.utils import _pytree as pytree

from jettison.instances.core.errors import InputError

Keywords = Mapping[str, Any]


def called_with(sample: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Return the positional and the keyword arguments that a sample stands for.

    A tuple holds positional arguments, a mapping with names holds keyword arguments, as data
    loaders yield them, and anything else is the only argument.
    """
    if type(sample) is tuple:
        return sample, {}
    if isinstance(sample, Mapping) and all(isinstance(name, str) for name in sample):
        return (), dict(sample)
    return (sample,), {}


@dataclass(frozen=True, slots=True)
class CallArguments:
    """Tree of the arguments of a call: where its tensors stand, and everything else in it.

    Attributes
    ----------
    tree
        Structure of the positional and the keyword arguments.
    leaves
        What stands in it; None in place of each tensor.
    names
        Names of all leaves, for messages.
    places
        Positions of the tensors among the leaves.
    keywords
        Names of the keyword arguments, in order.
    """

    tree: pytree.TreeSpec
    leaves: tuple[Any, ...]
    names: tuple[str, ...]
    places: tuple[int, ...]
    keywords: tuple[str, ...]

    @classmethod
    def of(cls, positional: Sequence[Any], keywords: Keywords) -> CallArguments:
        """Return the tree of a sample call."""
        found, tree = pytree.tree_flatten_with_path((tuple(positional), dict(keywords)))
        places = tuple(
            place for place, (_, leaf) in enumerate(found) if isinstance(leaf, torch.Tensor)
        )
        return cls(
            tree=tree,
            leaves=tuple(
                None if place in places else leaf for place, (_, leaf) in enumerate(found)
            ),
            names=tuple(_name(path) for path, _ in found),
            places=places,
            keywords=tuple(keywords),
        )

    @property
    def tensor_names(self) -> tuple[str, ...]:
        """Names of the tensors, in order."""
        return tuple(self.names[place] for place in self.places)

    def tensors(self, positional: Sequence[Any], keywords: Keywords) -> tuple[Any, ...]:
        """Return what stands where the sample had tensors, in order.

        Raises
        ------
        InputError
            If the call has other arguments than the sample, or another value in place of one that
            is no tensor.
        """
        # Keyword arguments come in any order.
        ordered = {name: keywords[name] for name in self.keywords if name in keywords}
        leaves, tree = pytree.tree_flatten((tuple(positional), {**ordered, **keywords}))
        if tree != self.tree:
            raise self._unlike(positional, keywords)
        for name, leaf, known, place in zip(
            self.names, leaves, self.leaves, range(len(leaves)), strict=True
        ):
            if place not in self.places and not (leaf is known or _equal(leaf, known)):
                raise InputError(
                    f"{leaf!r}, and {known!r} in the trace",
                    field=name,
                    expected="the trace holds for this value: trace again for another one",
                )
        return tuple(leaves[place] for place in self.places)

    def call(self, tensors: Sequence[Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Return the positional and the keyword arguments with these tensors in them."""
        leaves = list(self.leaves)
        for place, tensor in zip(self.places, tensors, strict=True):
            leaves[place] = tensor
        positional, keywords = pytree.tree_unflatten(leaves, self.tree)
        return positional, keywords

    def _unlike(self, positional: Sequence[Any], keywords: Keywords) -> InputError:
        """Return the error of arguments whose tree is another than the sample's."""
        known, named = self.call([None] * len(self.places))
        expected = "call the step with the arguments that the sample had"
        if len(known) != len(positional) or named.keys() != keywords.keys():
            return InputError(
                f"{len(positional)} inputs{_names(keywords)}, and {len(known)}{_names(named)} in"
                " the trace",
                field="inputs",
                expected=expected,
            )
        pairs = {
            **{
                f"inputs[{place}]": pair
                for place, pair in enumerate(zip(positional, known, strict=True))
            },
            **{name: (keywords[name], item) for name, item in named.items()},
        }
        name, (found, sample) = next(
            item
            for item in pairs.items()
            if pytree.tree_structure(item[1][0]) != pytree.tree_structure(item[1][1])
        )
        kind = type(found).__name__
        is_leaf = pytree.tree_structure(sample).is_leaf()
        return InputError(
            f"a {kind} is not a dense tensor" if is_leaf else f"a {kind} of other contents",
            field=name,
            expected=expected,
        )


def tensors_in(tree: Any) -> list[Tensor]:
    """Return the tensors in a tree, in order."""
    return [leaf for leaf in pytree.tree_leaves(tree) if isinstance(leaf, torch.Tensor)]


def _names(keywords: Keywords) -> str:
    return f" and {', '.join(sorted(keywords))}" if keywords else ""


def _equal(one: Any, other: Any) -> bool:
    # Booleans and numbers compare equal across types, and a model may well tell them apart.
    return type(one) is type(other) and not isinstance(one, torch.Tensor) and bool(one == other)


def _name(path: tuple[Any, ...]) -> str:
    kind, *rest = path
    if kind == pytree.SequenceKey(0):
        return f"inputs{pytree.keystr(tuple(rest))}"
    keyword, *deeper = rest
    return f"{keyword.key}{pytree.keystr(tuple(deeper))}"
