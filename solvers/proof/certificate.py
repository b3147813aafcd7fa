"""Certificate of a lower bound: a header and a proof, checked before it is handed out."""

from __future__ import annotations

import gzip
import io
import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, BinaryIO, cast

from jettison.certificates.certificate_file import MAGIC, CertificateFile
from jettison.certificates.checker import Proved, check_opened
from jettison.instances.core.atomic_file import replacing
from jettison.schedules.core.schedule_class import ScheduleClass


@dataclass(frozen=True)
class Certificate:
    """Lower bound, or claim that there is no schedule, with all that is needed to check it.

    Attributes
    ----------
    header
        The header of the file.
    lines
        The lines of the proof, as one gzip member.
    """

    header: Mapping[str, Any]
    lines: bytes

    def __repr__(self) -> str:
        # The header holds the instance, which has many lines.
        said = "nothing fits" if self.time_ns is None else f"{self.time_ns} ns"
        about = f"{self.header['problem']} {self.header['instance'].get('name', '')}"
        return f"<Certificate of {about}: {said} ({self.valid_for}), {len(self.compressed)} bytes>"

    @property
    def time_ns(self) -> int | None:
        """The time that no schedule beats; None if the claim is that there is no schedule."""
        time_ns: int | None = self.header["claim"].get("time_ns")
        return time_ns

    @property
    def valid_for(self) -> ScheduleClass:
        """The class of schedules that the claim is about."""
        return ScheduleClass(self.header["valid_for"])

    @cached_property
    def compressed(self) -> bytes:
        """The bytes of the compressed file: two gzip members, which read as one file."""
        return gzip.compress(self._head, mtime=0) + self.lines

    def checked(self) -> Proved:
        """Check the bytes that `save` writes by the independent checker.

        Raises
        ------
        CertificateError
            If they prove nothing: a defect of whoever made the certificate.
        """
        with gzip.GzipFile(fileobj=io.BytesIO(self.compressed)) as stream:
            return check_opened(CertificateFile(cast("BinaryIO", stream)))

    def save(self, path: str | Path) -> None:
        """Write the file, completely or not at all; compressed if its name ends in ``.gz``.

        Raises
        ------
        InputError
            If it cannot be written.
        """
        path = Path(path)
        data = self.compressed
        if path.suffix != ".gz":
            data = gzip.decompress(data)
        with replacing(path) as stream:
            stream.write(data)

    @property
    def _head(self) -> bytes:
        header = json.dumps(self.header, sort_keys=True, separators=(",", ":"))
        return f"{MAGIC}\n{header}\n".encode("ascii")
