"""Links of the page to certificates."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from jettison.instances.core.errors import InputError
from jettison.studies.report.origins import lies_within
from jettison.studies.report.run import Run
from jettison.studies.result_folder import ResultFolder


@dataclass(frozen=True)
class CertificateLinks:
    """Certificate files that the page links to.

    Attributes
    ----------
    targets
        By the key of the job: a link where the page lies in the folder of the results, else the
        name of the file in that folder.
    left_out
        What is wrong with certificates that records speak of, and that are not the ones written.
    """

    targets: dict[str, str]
    left_out: tuple[str, ...]


def certificate_links(runs: Iterable[Run], folder: ResultFolder, page: Path) -> CertificateLinks:
    """Link the certificates of jobs, as `jettison verify` takes them.

    Each file is compared with the hash in its record, and not checked: that is the reader's part.
    """
    beside = page.resolve().parent
    targets: dict[str, str] = {}
    left_out: list[str] = []
    for run in runs:
        if run.certified is None:
            continue
        try:
            folder.sound_record(run.key)
        except InputError as error:
            left_out.append(str(error))
            continue
        path = folder.certificate_path(run.key).resolve()
        if lies_within(page, folder.path):
            targets[run.key] = quote(Path(os.path.relpath(path, beside)).as_posix())
        else:
            targets[run.key] = f"certificates/{path.name}"
    return CertificateLinks(targets, tuple(left_out))
