"""`jettison verify`: what files prove, checked without any solver.

Certificates need nothing but `jettison.certificates`; what other kinds of files need is imported
when one is met, so that no more than Python's standard library and the command line itself has to
be trusted for a bound.
"""

from __future__ import annotations

import stat
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from jettison.certificates.certificate_file import is_certificate
from jettison.certificates.checker import check_certificate
from jettison.certificates.errors import CertificateError, on_one_line
from jettison.cli.arguments import (
    AlphaOption,
    BandwidthOption,
    MemoryOption,
    ModelsOption,
    TransfersOption,
)
from jettison.cli.exit_status import ExitStatus
from jettison.instances.errors import InputError

if TYPE_CHECKING:
    from jettison.solvers.posed_problem import Resources

Claims = Iterator[tuple[str, str]]


def verify(
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
            help="What a schedule is for, where it is not bundled; may be given several times.",
        ),
    ] = None,
    memory: MemoryOption = None,
    alpha: AlphaOption = None,
    bandwidth: BandwidthOption = None,
    transfers: TransfersOption = None,
    models: ModelsOption = None,
) -> None:
    """Check certificates, schedules and generated instances, without a solver.

    All arithmetic is in exact integers; one line per file says what is proved. A certificate holds
    its instance. A schedule names its own by a hash; it is replayed, in --memory if that is given.
    Of a folder every byte is checked: a file that is missing, added or changed is an error. Every
    file is looked at; the exit status is 0 if everything holds, else 2.

    Example: jettison verify bound.cert.gz mine.json --memory 50%
    """
    from jettison.solvers.posed_problem import Resources

    resources = Resources(memory, alpha, bandwidth, transfers, models)
    status = ExitStatus.DONE
    for path in paths:
        try:
            for name, claim in _claims(path, instance or [], resources):
                sys.stdout.write(f"{on_one_line(f'{name}: {claim}')}\n")
        except InputError as error:
            status = _refused(str(error))
        except CertificateError as error:
            status = _refused(f"{path}: {error}")
        except MemoryError:
            status = _refused(f"{path}: checking it needs more memory than there is")
    raise typer.Exit(status)


def _refused(reason: str) -> ExitStatus:
    # Names of files may hold anything.
    sys.stderr.write(f"error: {on_one_line(reason)}\n")
    return ExitStatus.BAD_INPUT


def _claims(path: Path, instances: list[str], resources: Resources) -> Claims:
    """Yield what a file or folder proves, each with a name."""
    try:
        mode = path.stat().st_mode
        # To open a pipe that nobody writes to would never end.
        if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
            raise InputError(
                "this is neither a file nor a folder",
                source=str(path),
                expected="write what a pipe or a device holds to a file first",
            )
        if stat.S_ISREG(mode) and is_certificate(path):
            yield str(path), check_certificate(path).statement
            return
    except (OSError, ValueError) as error:
        if isinstance(error, InputError | CertificateError):
            raise
        # A path with a null character is a ValueError.
        reason = getattr(error, "strerror", None) or str(error)
        raise InputError(
            f"cannot read the file: {reason}", source=str(path), expected="check the path"
        ) from None
    yield from _claims_of_json(path, instances, resources)


def _claims_of_json(path: Path, instances: list[str], resources: Resources) -> Claims:
    from jettison.cli.verify_schedule import SCHEDULES, verify_schedule
    from jettison.cli.verify_set import read_three_partition, verify_set
    from jettison.instances.json_file import check_header, read_json

    if path.is_dir():
        yield from verify_set(path)
        return
    document: Any = read_json(path)
    kinds = ("three-partition", "instance-set", *SCHEDULES)
    kind = check_header(document, dict.fromkeys(kinds, 1), str(path))
    if kind == "three-partition":
        yield str(path), read_three_partition(document, path)[1]
    elif kind == "instance-set":
        yield from _claims_of_index(path)
    else:
        yield str(path), verify_schedule(document, path, instances, resources)


def _claims_of_index(path: Path) -> Claims:
    from jettison.cli.instance_set import INDEX
    from jettison.cli.verify_set import verify_set

    if path.name != INDEX:
        raise InputError(
            "the index of a set under another name",
            field="kind",
            source=str(path),
            expected="give the folder of the set",
        )
    yield from verify_set(path.parent)
