"""Names with which a shell completes what is typed: see `jettison --install-completion`.

Nothing is completed where the words before are wrong; the command says what would be right.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import typer

from jettison.instances.catalog import bundled_instances
from jettison.instances.core.measured_links import MEASURED_LINKS
from jettison.instances.core.named_cards import NAMED_CARDS
from jettison.solvers.core.problem_kind import ProblemKind
from jettison.solvers.core.registry import PROBLEM_KINDS


def problem_names(incomplete: str) -> list[str]:
    """Return the problems that begin so."""
    return _begun(PROBLEM_KINDS.names, incomplete)


def instance_names(context: typer.Context, incomplete: str) -> list[str]:
    """Return the bundled instances that begin so, of the kinds that the problem takes."""
    kind = _kind(context)
    entries = bundled_instances()
    if kind is not None:
        entries = tuple(entry for entry in entries if entry.kind in kind.instance_kinds)
    return _begun((entry.name for entry in entries), incomplete)


def method_names(context: typer.Context, incomplete: str) -> list[str]:
    """Return the methods of the problem that begin so."""
    kind = _kind(context)
    methods = () if kind is None else kind.methods()
    return _begun((method.name for method in methods), incomplete)


def card_names(incomplete: str) -> list[str]:
    """Return the cards that begin so."""
    return _begun(NAMED_CARDS, incomplete)


def link_names(incomplete: str) -> list[str]:
    """Return the measured links that begin so."""
    return _begun(MEASURED_LINKS, incomplete)


def _kind(context: typer.Context) -> ProblemKind[Any] | None:
    """Return the problem that is typed; an option without its value leaves it unparsed."""
    typed = [context.params.get("problem"), *context.args]
    return next((PROBLEM_KINDS.find(name) for name in typed if name in PROBLEM_KINDS.names), None)


def _begun(names: Iterable[str], incomplete: str) -> list[str]:
    return [name for name in names if name.startswith(incomplete)]
