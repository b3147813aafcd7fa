"""Pictures on disk: of the kind that the suffix says, and whole or not at all."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest
from matplotlib.figure import Figure

from jettison.instances.core.errors import InputError
from jettison.schedules.core.memory_plot import plot_memory
from jettison.schedules.core.picture_file import check_picture_path, save_figure
from jettison.solvers.remat_chain.baselines import store_all_schedule
from tests.tiny import UNIFORM


def picture() -> Figure:
    return plot_memory(store_all_schedule(UNIFORM).replay(UNIFORM, 20), title="mine")


@pytest.mark.parametrize(
    ("name", "beginning"),
    [("p.png", b"\x89PNG\r\n\x1a\n"), ("p.PNG", b"\x89PNG\r\n\x1a\n"), ("p.pdf", b"%PDF-")],
)
def test_a_picture_is_of_the_kind_that_its_suffix_says(
    tmp_path: Path, name: str, beginning: bytes
) -> None:
    save_figure(picture(), tmp_path / name)
    assert (tmp_path / name).read_bytes().startswith(beginning)
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_an_svg_is_svg(tmp_path: Path) -> None:
    save_figure(picture(), str(tmp_path / "p.svg"))
    root = ElementTree.parse(tmp_path / "p.svg").getroot()
    assert root.tag == "{http://www.w3.org/2000/svg}svg"


def test_a_pdf_has_the_fonts_that_publishers_accept(tmp_path: Path) -> None:
    save_figure(picture(), tmp_path / "p.pdf")
    data = (tmp_path / "p.pdf").read_bytes()
    # Type 42 is TrueType, embedded as CIDFontType2; Type 3 is what they refuse.
    assert b"/CIDFontType2" in data
    assert b"/Type3" not in data


@pytest.mark.parametrize("name", ["p.png", "p.svg", "p.pdf"])
def test_equal_pictures_are_equal_files(tmp_path: Path, name: str) -> None:
    written = []
    for _ in range(2):
        save_figure(picture(), tmp_path / name)
        written.append((tmp_path / name).read_bytes())
    assert written[0] == written[1]


def test_an_older_picture_is_replaced(tmp_path: Path) -> None:
    path = tmp_path / "p.png"
    path.write_text("older", encoding="utf-8")
    save_figure(picture(), path)
    assert path.read_bytes().startswith(b"\x89PNG")


def test_a_saved_figure_is_emptied(tmp_path: Path) -> None:
    figure = picture()
    save_figure(figure, tmp_path / "p.png")
    assert not figure.axes


@pytest.mark.parametrize("name", ["p.jpg", "p", "p.png.txt", ".png"])
def test_an_unknown_suffix_leaves_nothing_behind(tmp_path: Path, name: str) -> None:
    figure = picture()
    with pytest.raises(InputError, match=r"end the name with \.png, \.svg, \.pdf"):
        save_figure(figure, tmp_path / name)
    assert list(tmp_path.iterdir()) == []
    assert figure.axes


def test_a_folder_that_does_not_exist_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="the folder does not exist"):
        save_figure(picture(), tmp_path / "missing" / "p.png")
    assert list(tmp_path.iterdir()) == []


def test_a_folder_in_place_of_the_picture_leaves_nothing_behind(tmp_path: Path) -> None:
    # Renaming onto a folder fails for every user, the one who may write everywhere included.
    (tmp_path / "p.png").mkdir()
    with pytest.raises(InputError, match="cannot write the file"):
        save_figure(picture(), tmp_path / "p.png")
    assert [path.name for path in tmp_path.iterdir()] == ["p.png"]


def test_a_folder_that_cannot_be_written_leaves_nothing_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("tempfile.NamedTemporaryFile", refuse)
    with pytest.raises(InputError, match="cannot write the file: Permission denied"):
        save_figure(picture(), tmp_path / "p.png")
    assert list(tmp_path.iterdir()) == []


def test_a_drawing_that_breaks_down_leaves_the_older_picture(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def break_down(stream: object, **_: object) -> None:
        raise OSError(28, "No space left on device")

    path = tmp_path / "p.png"
    path.write_text("older", encoding="utf-8")
    figure = picture()
    monkeypatch.setattr(figure, "savefig", break_down)
    with pytest.raises(InputError, match="No space left on device"):
        save_figure(figure, path)
    assert path.read_text(encoding="utf-8") == "older"
    assert [item.name for item in tmp_path.iterdir()] == ["p.png"]


def test_a_path_can_be_checked_before_there_is_a_picture(tmp_path: Path) -> None:
    check_picture_path(tmp_path / "p.svg")
    with pytest.raises(InputError, match=r"'\.gif' is not a kind of picture"):
        check_picture_path(tmp_path / "p.gif")


def test_matplotlib_loads_when_a_picture_is_drawn_and_pyplot_never(tmp_path: Path) -> None:
    code = f"""
import sys
from jettison.studies.comparison.plot import plot_compare
from jettison.instances.remat_chain.chain import Chain, Stage
from jettison.schedules.remat_chain.grid import plot_chain_grid
from jettison.schedules.remat_chain.schedule import ChainSchedule
from jettison.schedules.core.memory_plot import plot_memory
from jettison.schedules.core.picture_file import check_picture_path, save_figure
from jettison.schedules.remat_graph.recomputation_grid import plot_recomputation_grid
check_picture_path("p.png")
print("matplotlib" in sys.modules)
loss = Stage(name="loss", forward_ns=1, backward_ns=1, output_bytes=0, saved_bytes=1)
replay = ChainSchedule(()).replay(Chain("one", 1, (loss,)))
save_figure(plot_memory(replay, title="empty"), {str(tmp_path / "p.png")!r})
print("matplotlib" in sys.modules, "matplotlib.pyplot" in sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "True", "False"]
