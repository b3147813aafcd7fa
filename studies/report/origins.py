"""Section on the instances of a study: hash, file, and the provenance of their numbers."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from jettison.instances.catalog import Instance
from jettison.instances.core.errors import InputError
from jettison.instances.core.json_file import read_text
from jettison.studies.report import words
from jettison.studies.report.markup import Markup, element, joined
from jettison.studies.report.panel import Panel
from jettison.studies.result_folder import ResultFolder

# Of all files that the page carries itself.
MOST_BYTES = 2_000_000


@dataclass(frozen=True)
class Origins:
    """Section on instances, and the files that the page contains.

    Attributes
    ----------
    section
        One entry for each instance.
    files
        Text of each file, by hash, where the page does not lie in the folder of the results.
    left_out
        What is wrong with instances whose file cannot be read.
    """

    section: Markup
    files: dict[str, str]
    left_out: tuple[str, ...]


def describe_origins(panels: Sequence[Panel], folder: ResultFolder, page: Path) -> Origins:
    """Describe the instances; link their files if the page is in the folder, else include them.

    Of an instance whose file is missing, or was changed, no more is said than what the jobs say.
    """
    beside = lies_within(page, folder.path)
    entries, files, left_out = [], {}, []
    size = 0
    for sha256 in dict.fromkeys(panel.instance_sha256 for panel in panels):
        path = folder.instance_path(sha256)
        shown = [panel for panel in panels if panel.instance_sha256 == sha256]
        try:
            instance = folder.instance(sha256)
        except InputError as error:
            left_out.append(str(error))
            entries.append(_entry_without_file(sha256, shown))
            continue
        if beside:
            target = Path(os.path.relpath(path.resolve(), page.resolve().parent))
            file = element("a", f"{sha256[:12]}….json", href=quote(target.as_posix()))
        else:
            text = read_text(path)
            if size + len(text) <= MOST_BYTES:
                size += len(text)
                files[sha256] = text
                file = element(
                    "button",
                    f"download {sha256[:12]}….json",
                    type="button",
                    class_="download",
                    data_file=sha256,
                )
            else:
                file = joined(
                    [
                        element("code", f"instances/{sha256}.json"),
                        " in the results; too large to be part of this page",
                    ]
                )
        entries.append(_entry(instance, shown, file))
    return Origins(joined(entries), files, tuple(left_out))


def lies_within(page: Path, folder: Path) -> bool:
    """Tell whether a page lies in the folder of the results, so that links to files work."""
    return page.resolve().parent.is_relative_to(folder.resolve())


def _entry(instance: Instance, panels: Sequence[Panel], file: Markup) -> Markup:
    provenance = instance.provenance.to_json()
    # Minimum, median and maximum of each quantity: the file has them.
    provenance.pop("spread", None)
    facts = [
        ("kind", instance.kind),
        ("SHA-256", element("code", instance.sha256, class_="hash")),
        ("file", file),
        *((key.replace("_", " "), _written(value)) for key, value in provenance.items()),
    ]
    return _card(instance.name, instance.sha256, panels, facts)


def _entry_without_file(sha256: str, panels: Sequence[Panel]) -> Markup:
    facts: list[tuple[str, str | Markup]] = [
        ("SHA-256", element("code", sha256, class_="hash")),
        ("file", "missing or damaged; the sweep makes it again"),
    ]
    return _card(panels[0].instance, sha256, panels, facts)


def _card(
    name: str, sha256: str, panels: Sequence[Panel], facts: Sequence[tuple[str, str | Markup]]
) -> Markup:
    solved = joined(
        piece
        for place, panel in enumerate(panels)
        for piece in (
            ", " if place else "",
            element("a", panel.problem + _in_brackets(panel.resources), href=f"#{panel.name}"),
        )
    )
    return element(
        "article",
        element("h3", name),
        element("p", "in ", solved),
        element(
            "dl",
            *(joined([element("dt", term), element("dd", value)]) for term, value in facts),
            class_="facts",
        ),
        class_="card",
        id=f"instance-{sha256}",
    )


def _in_brackets(text: str) -> str:
    return f" ({text})" if text else ""


def _written(value: object) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name} {_written(entry)}" for name, entry in value.items())
    if isinstance(value, list):
        return " × ".join(map(str, value))
    return words.grouped(value) if isinstance(value, int) and value > 9999 else str(value)
