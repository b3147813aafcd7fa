"""Local copy of MathJax, so that formulas are shown without a network.

Of the package only the one file is copied that has everything in it; its output is SVG, which
needs no fonts.
"""

from __future__ import annotations

import re
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from docutils import nodes

if TYPE_CHECKING:
    from sphinx.application import Sphinx

SCRIPT = "tex-svg.js"


def connect(app: Sphinx) -> None:
    """Make Sphinx use the copied script."""
    app.setup_extension("sphinx.ext.mathjax")
    app.connect("config-inited", _set_path)
    app.connect("builder-inited", _copy)
    app.connect("doctree-resolved", _align)


def _set_path(app: Sphinx, config: object) -> None:
    app.config.mathjax_path = f"mathjax/{SCRIPT}"


def _copy(app: Sphinx) -> None:
    package = find_spec("sphinx-mathjax-offline")
    if package is None or package.origin is None:
        raise ModuleNotFoundError("sphinx-mathjax-offline is missing: pip install 'jettison[docs]'")
    source = Path(package.origin).parent / "static" / "mathjax" / SCRIPT
    target = Path(app.outdir) / "_static" / "mathjax" / SCRIPT
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(source.read_bytes())


def _align(app: Sphinx, doctree: nodes.document, name: str) -> None:
    """Set rows as ``aligned``, which keeps columns apart; Sphinx's own ``split`` does not."""
    for inline in doctree.findall(nodes.math):
        inline.children = [nodes.Text(_plain_words(inline.astext()))]
    for block in doctree.findall(nodes.math_block):
        text = _plain_words(block.astext())
        block.children = [nodes.Text(text)]
        if "&" in text and not text.lstrip().startswith(r"\begin"):
            block.children = [nodes.Text(rf"\[\begin{{aligned}}{text}\end{{aligned}}\]")]
            # The delimiters are there, and Sphinx adds nothing.
            block["no-wrap"] = block["nowrap"] = True


def _plain_words(text: str) -> str:
    """Return a formula whose words have plain underscores, as MathJax wants them, not LaTeX."""
    return re.sub(r"\\text\{[^{}]*\}", lambda word: word[0].replace(r"\_", "_"), text)
