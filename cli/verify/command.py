"""`jettison verify`: checks of certificates, schedules and instance sets, without any solver.

Certificates need nothing but `jettison.certificates`; modules for other kinds of files are imported
when needed, so that only Python's standard library and the command line itself have to be trusted
for a bound.
"""

from __future__ import annotations

import stat
import sys
from collections.abc import Iterator
from itertools import starmap
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from jettison.certificates.certificate_file import is_certificate
from jettison.certificates.errors import CertificateError, on_one_line
from jettison.cli.arguments import JsonOption
from jettison.cli.exit_status import ExitStatus
from jettison.cli.finding import Finding
from jettison.cli.option_groups import ResourceOptions, with_groups
from jettison.cli.output import print_json
from jettison.cli.time_limit import TimeLimitError, check_time_limit, time_limit
from jettison.cli.verify.certificate import verify_certificate
from jettison.instances.core.errors import InputError

if TYPE_CHECKING:
    from jettison.solvers.core.resources import Resources

Findings = Iterator[Finding]
_REFUSALS = (InputError, CertificateError, MemoryError, TimeLimitError)


@with_groups
def verify(
    given: ResourceOptions,
    paths: Annotated[
        list[Path],
        typer.Argument(
            metavar="FILE",
            help="Certificates (`jettison bound --certificate`), schedules (`jettison solve "
            "--output`), choices of strategies, and instances and folders that `jettison generate` "
            "wrote.",
        ),
    ],
    instance: Annotated[
        list[str] | None,
        typer.Option(
            metavar="INSTANCE",
            help="The instance of a schedule, if it is not bundled, or the one that a certificate "
            "has to be about; may be given several times.",
        ),
    ] = None,
    limit_s: Annotated[
        float | None,
        typer.Option("--time-limit", metavar="SECONDS", help="Wall-clock limit for each file."),
    ] = None,
    json_: JsonOption = False,
) -> None:
    """Check certificates, schedules and generated instances, without a solver.

    All arithmetic is in exact integers; one line per file says what is proved. A certificate
    contains its instance: the line says whether that is a bundled one. If --instance, --memory or
    --bandwidth is given, the certificate must be about it. A schedule names its instance by a hash;
    it is replayed, in --memory if that is given. In a folder every byte is checked: a file that is
    missing, added or changed is an error. Every file is checked; the exit status is 0 if everything
    holds, 5 if only the time ran out, else 2.

    Example: jettison verify bound.cert.gz mine.json --memory 50%
    """
    check_time_limit(limit_s)
    resources = given.resources()
    statuses = {ExitStatus.DONE}
    found: list[dict[str, object]] = []
    for path in paths:
        try:
            with time_limit(limit_s):
                for finding in _findings(path, instance or [], resources):
                    found.append(finding.to_json())
                    if not json_:
                        line = on_one_line(f"{finding.name}: {finding.statement}")
                        sys.stdout.write(f"{line}\n")
        except _REFUSALS as error:
            reason = on_one_line(_reason(error, path))
            sys.stderr.write(f"error: {reason}\n")
            found.append({"name": str(path), "holds": False, "reason": reason})
            is_late = isinstance(error, TimeLimitError)
            statuses.add(ExitStatus.NO_SCHEDULE if is_late else ExitStatus.BAD_INPUT)
    if json_:
        print_json({"files": found})
    # A file that is wrong outweighs one that was not checked in time.
    order = (ExitStatus.BAD_INPUT, ExitStatus.NO_SCHEDULE, ExitStatus.DONE)
    raise typer.Exit(next(status for status in order if status in statuses))


def _reason(error: Exception, path: Path) -> str:
    """Return the reason why a file does not hold; names of files may contain anything."""
    match error:
        case MemoryError():
            return f"{path}: checking it needs more memory than there is"
        case TimeLimitError():
            return f"{path}: not checked in the time of --time-limit"
        case CertificateError():
            return f"{path}: {error}"
        case _:
            return str(error)


def _findings(path: Path, instances: list[str], resources: Resources) -> Findings:
    """Yield the findings about a file or folder, each with a name."""
    try:
        mode = path.stat().st_mode
        # Opening a pipe without a writer would block for ever.
        if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
            raise InputError(
                "this is neither a file nor a folder",
                source=str(path),
                expected="save its content as a file first",
            )
        if stat.S_ISREG(mode) and is_certificate(path):
            yield verify_certificate(path, instances, resources)
            return
    except (OSError, ValueError) as error:
        if isinstance(error, InputError | CertificateError):
            raise
        # A path with a null character is a ValueError.
        reason = getattr(error, "strerror", None) or str(error)
        raise InputError(
            f"cannot read the file: {reason}", source=str(path), expected="check the path"
        ) from None
    yield from _findings_of_json(path, instances, resources)


def _findings_of_json(path: Path, instances: list[str], resources: Resources) -> Findings:
    from jettison.cli.verify.instance_set_check import read_three_partition, verify_set
    from jettison.cli.verify.schedule import schedule_kinds, verify_schedule
    from jettison.instances.core.json_file import check_header, read_json

    if path.is_dir():
        yield from starmap(Finding, verify_set(path))
        return
    document: Any = read_json(path)
    kinds = ("three-partition", "instance-set", *schedule_kinds())
    kind = check_header(document, dict.fromkeys(kinds, 1), str(path))
    if kind == "three-partition":
        yield Finding(str(path), read_three_partition(document, path)[1])
    elif kind == "instance-set":
        yield from _findings_of_index(path)
    else:
        yield verify_schedule(document, path, instances, resources)


def _findings_of_index(path: Path) -> Findings:
    from jettison.cli.generate.instance_set import INDEX
    from jettison.cli.verify.instance_set_check import verify_set

    if path.name != INDEX:
        raise InputError(
            "the index of a set under another name",
            field="kind",
            source=str(path),
            expected="give the folder of the set",
        )
    yield from starmap(Finding, verify_set(path.parent))
