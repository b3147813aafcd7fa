"""Files that appear complete or not at all, and what they must not take the place of."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from jettison.instances.core.atomic_file import check_replaceable, replacing
from jettison.instances.core.errors import InputError


def write(path: Path, text: str) -> None:
    with replacing(path) as stream:
        stream.write(text.encode())


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes with names")
def test_a_device_or_a_pipe_is_refused_and_stays(tmp_path: Path) -> None:
    # A pipe stands for /dev/null here, which only an administrator could have lost.
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with pytest.raises(InputError, match="a device or a pipe has this name; give the name of a"):
        write(pipe, "new")
    assert pipe.is_fifo()
    assert list(tmp_path.iterdir()) == [pipe]


def test_a_folder_is_named_as_what_it_is(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="a folder has this name"):
        write(tmp_path, "new")


def test_a_link_stays_and_its_file_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    file, link = tmp_path / "elsewhere" / "file", tmp_path / "link"
    file.write_text("old")
    link.symlink_to(file)
    write(link, "new")
    assert link.is_symlink()
    assert file.read_text() == "new"
    assert list(file.parent.iterdir()) == [file]


def test_a_link_that_leads_in_a_circle_becomes_the_file(tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(link)
    write(link, "new")
    assert link.read_text() == "new"


def test_a_path_is_checked_before_there_is_anything_to_write(tmp_path: Path) -> None:
    check_replaceable(tmp_path / "new")
    with pytest.raises(InputError, match="the folder does not exist; create it"):
        check_replaceable(tmp_path / "missing" / "new")
    with pytest.raises(InputError, match="a folder has this name"):
        check_replaceable(tmp_path)
