"""Links for names in docstrings.

A name in single backticks leads to the public name, the formulation or the module's code where
there is one, and stands as code otherwise. A dotted name of jettison that does not exist is a
warning, and so an error of the build.
"""

from __future__ import annotations

import re
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING

from docutils import nodes
from sphinx.util import logging
from sphinx.util.nodes import make_refnode

from .api_pages import public_names

if TYPE_CHECKING:
    from sphinx.addnodes import pending_xref
    from sphinx.application import Sphinx
    from sphinx.environment import BuildEnvironment

_LOGGER = logging.getLogger(__name__)
_FORMULATION = re.compile(r"(?:jettison\.)?(?:formulations[./])?([\w./]+?)(?:\.py)?")


def connect(app: Sphinx) -> None:
    """Resolve the names for which Sphinx finds no target."""
    app.connect("missing-reference", _resolve)
    app.connect("doctree-resolved", _link_files)


def _resolve(
    app: Sphinx, env: BuildEnvironment, node: pending_xref, content: nodes.TextElement
) -> nodes.Node | None:
    if node.get("refdomain") != "py":
        return None
    target = node["reftarget"]
    name = target.rpartition(".")[2] if target.startswith("jettison.") else target
    module = _module_of_public_names().get(name)
    if module is not None:
        found = env.get_domain("py").resolve_xref(
            env, node["refdoc"], app.builder, "obj", f"{module}.{name}", node, content
        )
        if found is not None:
            return found
    page = _formulation_page(env, target)
    if page is not None:
        return make_refnode(app.builder, node["refdoc"], page, None, content, target)
    if target.startswith("jettison.") and not _exists(target):
        _LOGGER.warning("%s does not exist", target, location=node)
    return content


@cache
def _module_of_public_names() -> dict[str, str]:
    return {name: module for module, names in public_names().items() for name in names}


def _formulation_page(env: BuildEnvironment, target: str) -> str | None:
    match = _FORMULATION.fullmatch(target)
    page = f"generated/formulations/{match[1].replace('/', '.')}" if match else ""
    return page if page in env.found_docs else None


def _exists(dotted: str) -> bool:
    """Tell whether a dotted name is a module, or a name in one, or an attribute of that."""
    parts = dotted.split(".")
    for count in range(len(parts), 0, -1):
        try:
            found: object = import_module(".".join(parts[:count]))
        except ModuleNotFoundError:
            continue
        for part in parts[count:]:
            if not hasattr(found, part):
                return part in getattr(found, "__annotations__", {})
            found = getattr(found, part)
        return True
    return False


def _link_files(app: Sphinx, doctree: nodes.document, name: str) -> None:
    """Link ``formulations/NAME.py`` in the text of any page to the page of that formulation."""
    for literal in list(doctree.findall(nodes.literal)):
        text = literal.astext()
        page = _formulation_page(app.env, text) if text.startswith("formulations/") else None
        if page is not None and page != name and not isinstance(literal.parent, nodes.reference):
            link = make_refnode(app.builder, name, page, None, literal.deepcopy(), text)
            literal.replace_self(link)
