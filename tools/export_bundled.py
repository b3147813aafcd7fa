"""Measure the bundled data set, and write its files and their index.

Run ``python -m tools.export_bundled`` from a checkout, or with ``--output``.
``--list`` shows the families and what is missing; ``--family NAME`` measures one of them. What is
there is kept, and what was measured of an unfinished file as well: whatever stops a run, the same
command goes on where it was. A model that the device has no memory for does not stop the others;
the exit status is then 1.
"""

from __future__ import annotations

import argparse
import gc
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import torch

from jettison.instances.core.errors import InputError, JettisonError
from jettison.instances.profilers.device.device_name import device_name
from jettison.instances.profilers.device.processor_name import short_device_name
from jettison.instances.profilers.profile_run import device_of
from jettison.instances.profilers.settings import ProfileSettings
from tools import export_families
from tools.bundled_index import DATA, write_index
from tools.exports import Export, Say, unfinished


@dataclass(frozen=True, slots=True)
class _Planned:
    """An instance, the family that it belongs to, and its name on the device."""

    family: str
    name: str
    export: Export


def planned(settings: ProfileSettings) -> tuple[_Planned, ...]:
    """Return the instances of the device, in the order of the families.

    Raises
    ------
    InputError
        If there is no such device.
    """
    short = short_device_name(device_name(device_of(settings)), settings.device)
    families = export_families.ON_GPU if settings.device == "cuda" else export_families.ON_CPU
    return tuple(
        _Planned(family, export.name(short), export)
        for family, exports in families.items()
        for export in exports
    )


def chosen(
    everything: Sequence[_Planned], families: Sequence[str], names: Sequence[str]
) -> tuple[_Planned, ...]:
    """Return what belongs to the families and has one of the names; all if there are none.

    Raises
    ------
    InputError
        If there is no such family or name.
    """
    for field, asked, known in (
        ("family", families, dict.fromkeys(item.family for item in everything)),
        ("name", names, dict.fromkeys(item.name for item in everything)),
    ):
        for word in asked:
            if word not in known:
                raise InputError(
                    f"{word!r}", field=field, expected=f"choose from {', '.join(known)}"
                )
    return tuple(
        item
        for item in everything
        if (not families or item.family in families) and (not names or item.name in names)
    )


def export(
    output: Path, items: Sequence[_Planned], settings: ProfileSettings, *, force: bool = False
) -> tuple[str, ...]:
    """Write the instances that are missing in `output`, then the index; return what failed.

    Parameters
    ----------
    output
        A folder that exists. The index covers every instance in it.
    items
        Which instances.
    settings
        Where and how often operations run.
    force
        Measure again what is there already.

    Raises
    ------
    InputError
        If the folder cannot be written.
    """
    if not output.is_dir():
        raise InputError(f"{output} is not a folder", field="output", expected="create it first")
    failed: list[str] = []
    try:
        for item in items:
            path = output / f"{item.name}.json"
            if path.exists() and not force:
                _say(f"{item.name}: kept")
                continue
            started = time.perf_counter()
            try:
                instance = item.export.write(path, settings, _announcing(item.name))
            except InputError as error:
                _say(f"{item.name}: {error}")
                failed.append(item.name)
                # What the error held is to be gone before the next model comes.
                gc.collect()
                if settings.device == "cuda":
                    torch.cuda.empty_cache()
                continue
            seconds = time.perf_counter() - started
            _say(f"{item.name}: {instance.kind} of {len(instance)}, {seconds:.0f} s")
    finally:
        write_index(output)
    return tuple(failed)


def listing(output: Path, items: Sequence[_Planned]) -> str:
    """Return a line for each instance: its family, its name, and whether it is there."""
    lines = []
    for item in items:
        path = output / f"{item.name}.json"
        if path.exists():
            state = "there"
        else:
            state = "unfinished" if unfinished(path).exists() else "missing"
        lines.append(f"{item.family:18} {state:11} {item.name}\n")
    return "".join(lines)


def _announcing(name: str) -> Say:
    def say(text: str) -> None:
        if sys.stderr.isatty():
            sys.stderr.write(f"\r\x1b[K{name}: {text[:60]}")
            sys.stderr.flush()

    return say


def _say(line: str) -> None:
    start = "\r\x1b[K" if sys.stderr.isatty() else ""
    sys.stderr.write(f"{start}{line}\n")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; return 0, 1 if an instance failed, 2 for bad input, 130 if stopped."""
    parser = argparse.ArgumentParser(description="Measure the models of the bundled data set.")
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--family", action="append", default=[], metavar="NAME", help="only this")
    parser.add_argument("--list", action="store_true", help="show what there is and is missing")
    parser.add_argument("--output", type=Path, default=DATA, help="folder of the instance files")
    parser.add_argument("--force", action="store_true", help="measure again what is there already")
    parser.add_argument(
        "--threads", type=int, default=1, help="CPU threads; one disturbs and is disturbed least"
    )
    parser.add_argument("--repeats", type=int, default=7, help="runs of each operation")
    parser.add_argument("--warmup", type=int, default=2, help="runs before those")
    parser.add_argument("names", nargs="*", metavar="NAME", help="only these instances")
    options = parser.parse_args(arguments)
    try:
        settings = ProfileSettings(
            device=options.device,
            warmup=options.warmup,
            repeats=options.repeats,
            threads=options.threads,
        )
        items = chosen(planned(settings), options.family, options.names)
        if options.list:
            sys.stdout.write(listing(options.output, items))
            return 0
        failed = export(options.output, items, settings, force=options.force)
    except JettisonError as error:
        _say(str(error))
        return 2
    except KeyboardInterrupt:
        _say("stopped; the same command goes on from here")
        return 130
    if failed:
        _say(f"not written: {', '.join(failed)}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
