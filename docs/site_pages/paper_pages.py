"""Pages of the papers, from the lists in ``docs/papers``: what is here of what each one states."""

from __future__ import annotations

import re
from pathlib import Path

from jettison.instances.core.errors import InputError
from jettison.studies.paper_list import Entry, Kind, PaperList, Status, load_papers

from .page_text import SECTION, TITLE, heading, table, toctree, write_page
from .paper_places import check_place, link_to

SECTIONS = {kind: f"{kind.value}s".capitalize() for kind in Kind} | {
    Kind.PROBLEM: "The problem",
    Kind.CLAIM: "Claims of the text",
}
MEANINGS = {
    Status.REPRODUCED: "it is here as the paper has it, its corrections apart, or its number "
    "comes out",
    Status.IN_STRUCTURE: "the same is computed, or drawn, from other data, another device or at "
    "another size; the numbers cannot be compared one by one",
    Status.NOT: "it is not here, or does not hold here, and the reason is given",
}


def write(root: Path, folder: Path) -> None:
    """Write a page for each paper, and one that counts what is in them.

    Raises
    ------
    InputError
        If a list is wrong, or points to what is not there.
    """
    papers = load_papers(root)
    for paper in papers:
        check_places(root, paper)
        _write_paper(root, folder, paper)
    rows = [
        (
            f":doc:`{paper.name} <{paper.name}>`",
            paper.title,
            *(str(paper.counts()[status]) for status in Status),
        )
        for paper in papers
    ]
    write_page(
        folder / "index.rst",
        heading("What is here of each paper", TITLE),
        "Every algorithm, equation, theorem, figure, table, experiment and claim of six papers, "
        "and what became of it.",
        "\n".join(f"- *{status.value}*: {words};" for status, words in MEANINGS.items())[:-1] + ".",
        table(("Paper", "Title", *(status.value for status in Status)), rows, (14, 50, 12, 12, 12)),
        "Where the papers are read differently, or are wrong in print, stands in "
        ":doc:`/corrections`. The lists are the files of ``docs/papers``; a test asks that all "
        "that a paper numbers is listed, and that every place named here exists.",
        toctree((paper.name, paper.name) for paper in papers),
    )


def check_places(root: Path, paper: PaperList) -> None:
    """Refuse a list with an entry that points nowhere.

    Raises
    ------
    InputError
        Of the first such place.
    """
    sources = [f"notebooks/{paper.notebook}.py"]
    sources += [f"docs/corrections.md#{title}" for title in paper.corrections]
    for place in (*sources, *(place for entry in paper.entries for place in entry.where)):
        try:
            check_place(root, place)
        except InputError as error:
            raise error.within(source=f"{paper.name}.toml") from None


def _write_paper(root: Path, folder: Path, paper: PaperList) -> None:
    counts = paper.counts()
    told = ", ".join(f"{counts[status]} {status.value}" for status in Status)
    parts = []
    for kind in Kind:
        if entries := paper.of(kind):
            parts.append(heading(SECTIONS[kind], SECTION))
            rows = [_row(root, entry) for entry in entries]
            # Most of what has no number stands in sections where nothing has one.
            shown = 4 if any(entry.paper or entry.ours for entry in entries) else 2
            header, widths = ("In the paper", "Here", "Paper", "Ours"), (30, 40, 15, 15)
            parts.append(table(header[:shown], (row[:shown] for row in rows), widths[:shown]))
    corrections = ", ".join(f"*{title}*" for title in paper.corrections)
    write_page(
        folder / f"{paper.name}.rst",
        heading(f"{paper.name}: what is here of the paper", TITLE),
        f"{paper.source}, *{paper.title}*. {paper.read}",
        f"{len(paper.entries)} entries: {told}. The figures and tables stand in "
        f":doc:`the notebook <../notebooks/{paper.notebook}>`, the corrections of the print in "
        f":doc:`/corrections` under {corrections}.",
        *parts,
    )


def _row(root: Path, entry: Entry) -> tuple[str, str, str, str]:
    name = f"**{entry.name}.** " if entry.number else ""
    why = f": {_as_words(entry.why)}" if entry.why else "."
    places = "; ".join(link_to(root, place) for place in entry.where)
    here = f"*{entry.status.value}*{why} {places}".strip()
    return f"{name}{_as_words(entry.title)}", here, _as_words(entry.paper), _as_words(entry.ours)


def _as_words(text: str) -> str:
    """Escape what reStructuredText would read as markup."""
    return re.sub(r"([\\*|_`])", r"\\\1", text)
