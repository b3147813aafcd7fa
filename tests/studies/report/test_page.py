"""The page holds the numbers of the table of results, and none of its texts is markup."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from jettison.studies.report import timelines
from jettison.studies.report.page import write_report
from jettison.studies.report.run import LoadedRuns, load_runs
from jettison.studies.result_folder import ResultFolder
from tests.studies.report.conftest import HOSTILE, TinyResults


class Page(HTMLParser):
    """Page as a browser sees it: tags, the text outside of scripts, ids and links."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.ids: list[str] = []
        self.links: list[str] = []
        self.sources: list[str] = []
        self.text = ""
        self.data: dict[str, Any] = {}
        self._inside: str | None = None
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        named = dict(attrs)
        self.tags.append(tag)
        self._inside = named.get("id") if tag == "script" else None
        if tag in {"script", "style"} and self._inside is None:
            self._inside = tag
        if named.get("id"):
            self.ids.append(str(named["id"]))
        if tag == "a":
            self.links.append(str(named["href"]))
        self.sources += [str(named[name]) for name in ("src", "srcset") if name in named]

    def handle_endtag(self, tag: str) -> None:
        if tag in {"script", "style"}:
            self._inside = None

    def handle_data(self, data: str) -> None:
        if self._inside == "data":
            self.data = json.loads(data)
        elif self._inside is None:
            self.text += data


@pytest.fixture(scope="module")
def loaded(tiny_results: TinyResults) -> LoadedRuns:
    return load_runs(ResultFolder(tiny_results.path))


@pytest.fixture(scope="module")
def page(tiny_results: TinyResults, loaded: LoadedRuns) -> Page:
    path = tiny_results.path / "report.html"
    write_report(loaded.runs, ResultFolder(tiny_results.path), path, title=HOSTILE)
    return Page(path.read_text(encoding="utf-8"))


def column(page: Page, name: str) -> list[Any]:
    values = page.data["jobs"][name]
    if isinstance(values, dict):
        return [values["words"][place] for place in values["at"]]
    return list(values)


@pytest.mark.parametrize(
    "name", ["time_ns", "peak_bytes", "best_bound_ns", "gap_to_best", "memory_bytes", "seconds"]
)
def test_every_number_of_the_table_is_in_the_page(
    page: Page, loaded: LoadedRuns, name: str
) -> None:
    wanted = loaded.frame[name]
    shown = pd.Series(column(page, name), index=column(page, "key"), dtype="Float64")
    assert len(shown) == len(wanted) == 13
    for key, value in wanted.items():
        if pd.isna(value):
            assert pd.isna(shown[key])
        else:
            assert shown[key] == value


def test_labels_of_curves_have_time_and_peak_to_the_unit(page: Page) -> None:
    (curves,) = (
        figure
        for name, figure in page.data["figures"].items()
        if name.startswith("curves-")
        and any(trace["name"] == "rotor-exact" for trace in figure["data"])
    )
    (line,) = (trace for trace in curves["data"] if trace["name"] == "rotor-exact")
    rows = [
        (time_ns, peak_bytes)
        for method, time_ns, peak_bytes in zip(
            column(page, "method"), column(page, "time_ns"), column(page, "peak_bytes"), strict=True
        )
        if method == "rotor-exact" and time_ns is not None
    ]
    assert rows
    assert len(line["text"]) == len(rows)
    for time_ns, peak_bytes in rows:
        written = [text.replace("\u202f", "") for text in line["text"]]
        assert any(
            f"({time_ns} ns)" in text and f"({peak_bytes} bytes)" in text for text in written
        )


def test_names_and_reasons_are_text_and_never_markup(page: Page) -> None:
    assert "img" not in page.tags
    assert page.text.count(HOSTILE) >= 4
    assert "killed <b>at</b> its wall limit" in page.text


def test_labels_for_plotly_hold_no_tags_but_its_own(page: Page) -> None:
    texts = [
        text
        for figure in page.data["figures"].values()
        for trace in figure["data"]
        for text in trace["text"]
    ]
    assert texts
    for text in texts:
        assert not re.sub(r"</?b>|<br>", "", text).count("<"), text


def test_nothing_is_fetched_and_the_policy_forbids_it(
    page: Page, tiny_results: TinyResults
) -> None:
    assert page.sources == []
    text = (tiny_results.path / "report.html").read_text(encoding="utf-8")
    assert "default-src 'none'" in text.partition("<style>")[0]


def test_every_link_inside_the_page_has_its_target_and_ids_are_unique(page: Page) -> None:
    assert len(set(page.ids)) == len(page.ids)
    inside = {link[1:] for link in page.links if link.startswith("#")}
    assert inside
    assert inside <= set(page.ids)


def test_a_page_among_the_results_links_to_the_files_of_instances(
    page: Page, tiny_results: TinyResults
) -> None:
    files = [link for link in page.links if not link.startswith("#")]
    assert len(files) == 2
    assert all((tiny_results.path / link).is_file() for link in files)
    assert page.data["files"] == {}


def test_a_page_elsewhere_carries_the_files_of_instances(
    tiny_results: TinyResults, loaded: LoadedRuns, tmp_path: Path
) -> None:
    folder = ResultFolder(tiny_results.path)
    write_report(loaded.runs, folder, tmp_path / "report.html", title="t")
    carried = Page((tmp_path / "report.html").read_text(encoding="utf-8")).data["files"]
    assert len(carried) == 2
    for sha256, text in carried.items():
        assert text == folder.instance_path(sha256).read_text(encoding="utf-8")


def test_the_best_schedule_of_each_memory_is_shown_and_the_rest_is_said(
    page: Page, loaded: LoadedRuns
) -> None:
    solved = loaded.frame[loaded.frame["time_ns"].notna()]
    best = solved.groupby(["problem", "memory_bytes"])["time_ns"].min()
    shown = page.data["timelines"]
    assert len(shown) == len(best)
    for key, timeline in shown.items():
        row = solved.loc[key]
        assert timeline["end"] == row["time_ns"] == best[row["problem"], row["memory_bytes"]]
        assert timeline["peak"] == row["peak_bytes"]
    left = len(solved) - len(best)
    assert left > 0
    assert f"{left} schedule{'s' if left > 1 else ''}: only the best of each cell" in page.text


@pytest.mark.parametrize("most", [0, 1, 100])
def test_as_many_schedules_are_shown_as_are_asked_for(
    tiny_results: TinyResults,
    loaded: LoadedRuns,
    tmp_path: Path,
    most: int,
) -> None:
    folder, path = ResultFolder(tiny_results.path), tmp_path / "report.html"
    left_out = write_report(loaded.runs, folder, path, title="t", most_timelines=most)
    shown = Page(path.read_text(encoding="utf-8")).data["timelines"]
    schedules = int(loaded.frame["time_ns"].notna().sum())
    assert len(shown) == min(most, schedules)
    assert bool(left_out) == (most < schedules)


def test_schedules_beyond_the_size_of_a_page_are_left_out_and_said(
    tiny_results: TinyResults,
    loaded: LoadedRuns,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(timelines, "MOST_BYTES", 0)
    left_out = write_report(
        loaded.runs, ResultFolder(tiny_results.path), tmp_path / "r.html", title="t"
    )
    assert any("larger than 15 MB" in sentence for sentence in left_out)
    assert len(Page((tmp_path / "r.html").read_text(encoding="utf-8")).data["timelines"]) == 1


def test_figures_are_what_plotly_accepts(page: Page) -> None:
    graph_objects = pytest.importorskip("plotly.graph_objects", reason="plotly is not installed")
    for figure in page.data["figures"].values():
        document = json.loads(
            re.sub(
                r'"@[a-z0-9-]+"',
                '"#123456"',
                json.dumps({k: figure[k] for k in ("data", "layout")}),
            )
        )
        graph_objects.Figure(document)


def test_an_instance_that_is_gone_is_said_and_the_rest_is_shown(
    tiny_results: TinyResults, loaded: LoadedRuns, tmp_path: Path
) -> None:
    page = tmp_path / "report.html"
    left_out = write_report(loaded.runs, ResultFolder(tmp_path), page, title="t")
    assert any("cannot read the file" in sentence for sentence in left_out)
    text = page.read_text(encoding="utf-8")
    assert "missing or damaged; the sweep makes it again" in text
    assert loaded.runs[0].job.method in text
