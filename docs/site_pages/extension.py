"""Sphinx extension that writes all generated pages.

Pages are written to ``docs/generated`` before Sphinx looks for pages, so that a new formulation,
problem, method, command, public name, notebook or benchmark has its page without being listed.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import (
    api_pages,
    benchmark_page,
    command_pages,
    formulation_pages,
    json_pages,
    kiwi_pictures,
    linked_graph_picture,
    local_mathjax,
    name_links,
    notebook_pages,
    paper_pages,
    planners_picture,
    problem_pages,
    problem_pictures,
    start_picture,
)

if TYPE_CHECKING:
    from sphinx.application import Sphinx

ROOT = Path(__file__).resolve().parents[2]


def write_pages(app: Sphinx) -> None:
    """Write all generated pages of the site anew."""
    folder = Path(app.srcdir) / "generated"
    shutil.rmtree(folder, ignore_errors=True)
    start_picture.write(folder)
    kiwi_pictures.write(folder)
    linked_graph_picture.write(folder)
    planners_picture.write(ROOT, folder)
    formulation_pages.write(ROOT, folder / "formulations")
    problem_pages.write(ROOT, folder / "problems")
    problem_pictures.write(folder / "problems")
    command_pages.write(folder / "commands")
    json_pages.write(folder)
    api_pages.write(folder / "api")
    notebook_pages.write(ROOT, folder / "notebooks")
    paper_pages.write(ROOT, folder / "papers")
    benchmark_page.write(ROOT, folder)


def setup(app: Sphinx) -> dict[str, Any]:
    """Connect the writers of pages to Sphinx."""
    app.connect("builder-inited", write_pages)
    name_links.connect(app)
    local_mathjax.connect(app)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
