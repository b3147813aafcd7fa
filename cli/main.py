"""The command `jettison`: one module per family of commands, exit codes in one place."""

from __future__ import annotations

import contextlib
import errno
import functools
import io
import os
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from importlib import metadata
from pathlib import Path
from typing import Annotated, Any, NoReturn, TextIO

import typer

from jettison.cli import (
    INTERRUPTED,
    bound_command,
    import_command,
    report_command,
    show_command,
    solve_command,
)
from jettison.cli.compare import command as compare_command
from jettison.cli.compare import largest_batch_command
from jettison.cli.compare import throughput as throughput_command
from jettison.cli.export import command as export_command
from jettison.cli.export import policy_command
from jettison.cli.generate import command as generate_command
from jettison.cli.generate import fused_models as generate_models
from jettison.cli.generate import graphs as generate_graphs
from jettison.cli.listing import command as list_command
from jettison.cli.profile import command as profile_command
from jettison.cli.sweep import command as sweep_command
from jettison.cli.verify import command as verify_command
from jettison.instances.core.errors import (
    InputError,
    JettisonError,
    MissingExtraError,
    UnsoundSolverError,
)
from jettison.instances.profilers.profile_warning import ProfileWarning

HELP = """How fast can this model train in this much memory, and how far from the best is a plan?

Exit status: 0 solved or proved, 1 internal error, 2 bad input, 3 proved infeasible,
4 a limit was reached with a schedule in hand, 5 no schedule was found and none was ruled out,
130 Ctrl-C before there was anything to show.
"""

_DISK_ERRORS = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)

app = typer.Typer(
    name="jettison",
    help=HELP,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["--help", "-h"]},
)


def _print_version(wanted: bool) -> None:
    if wanted:
        sys.stdout.write(f"jettison {metadata.version('jettison')}\n")
        raise typer.Exit


@app.callback()
def _options(
    _version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version and exit."
        ),
    ] = False,
) -> None:
    """Handle the options of the program itself."""


app.command("solve")(solve_command.solve)
app.command("bound")(bound_command.bound)
app.command("compare")(compare_command.compare)
app.command("throughput")(throughput_command.throughput)
app.command("largest-batch", short_help="Find the largest batch at a bounded cost.")(
    largest_batch_command.largest_batch_command
)
app.command("show")(show_command.show)
app.add_typer(list_command.app, name="list")
app.add_typer(import_command.app, name="import")
app.command("profile", short_help="Measure a model, and write it as an instance.")(
    profile_command.profile
)
app.command("export")(export_command.export)
app.command("export-policy", short_help="Write what PyTorch is to save, as JSON or Python.")(
    policy_command.export_policy
)
generate_command.app.add_typer(generate_graphs.app)
generate_command.app.add_typer(generate_models.app)
app.add_typer(
    generate_command.app,
    name="generate",
    short_help="Generate instances: hard ones of known answer, and random ones.",
)
app.command("sweep")(sweep_command.sweep)
app.command("report", short_help="Write the results of a study as one page, or as a table.")(
    report_command.report
)
app.command("verify", short_help="Check certificates, schedules and generated instances.")(
    verify_command.verify
)


@functools.cache
def _command() -> Callable[..., object]:
    # To build all commands takes longer than most of them, and a process may run many.
    return typer.main.get_command(app)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and exit with its status."""
    _prepare_streams()
    try:
        with _plain_warnings():
            try:
                _command()(args=None if arguments is None else list(arguments))
            finally:
                # Flush here: at the end of the program a failure could not be reported.
                sys.stdout.flush()
    except (InputError, MissingExtraError, UnsoundSolverError) as error:
        sys.stderr.write(f"error: {error}\n")
        sys.exit(2)
    except JettisonError as error:
        sys.stderr.write(f"internal error: {error}\n")
        sys.exit(1)
    except KeyboardInterrupt:
        sys.stderr.write("interrupted\n")
        sys.exit(INTERRUPTED)
    except SystemExit as stop:
        # Typer and rich have their own statuses for a closed pipe and for Ctrl-C.
        if isinstance(stop.__context__, BrokenPipeError):
            _stop_without_a_reader()
        if stop.code == INTERRUPTED:
            sys.stderr.write("interrupted\n")
        raise
    except BrokenPipeError:
        _stop_without_a_reader()
    except OSError as error:
        if error.filename is not None or error.errno not in _DISK_ERRORS:
            raise
        # An error without a file name is about the standard output, which is not written further.
        sys.stdout = _nowhere()
        sys.stderr.write(f"error: standard output: cannot be written: {error.strerror}\n")
        sys.exit(2)


@contextlib.contextmanager
def _plain_warnings() -> Iterator[None]:
    """Write warnings about profiles as one line each, without the place in the code."""
    show = warnings.showwarning

    def write(message: Warning | str, category: type[Warning], *place: Any, **more: Any) -> None:
        if issubclass(category, ProfileWarning):
            sys.stderr.write(f"warning: {message}\n")
        else:
            show(message, category, *place, **more)

    warnings.showwarning = write
    try:
        yield
    finally:
        warnings.showwarning = show


def _prepare_streams() -> None:
    """Make standard streams accept every text: closed ones drop it, others escape letters.

    A name, or the unit of a violation, may contain letters that the terminal's locale lacks.
    """
    sys.stdout = sys.stdout or _nowhere()
    sys.stderr = sys.stderr or _nowhere()
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")


def _nowhere() -> TextIO:
    return Path(os.devnull).open("w", encoding="utf-8")


def _stop_without_a_reader() -> NoReturn:
    """Exit without an error where the reader has left (`jettison list instances | head`)."""
    # Otherwise the end of the program would fail on unwritten output.
    sys.stdout = _nowhere()
    sys.exit(0)
