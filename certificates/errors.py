"""What a certificate that proves nothing is answered with."""

from __future__ import annotations


class CertificateError(ValueError):
    """A certificate does not prove its claim, or is not one.

    Parameters
    ----------
    problem
        What is wrong, on one line.
    line
        Number of the line in the uncompressed file, from 1; None where it is no single line.
    """

    def __init__(self, problem: str, line: int | None = None) -> None:
        self.problem = problem
        self.line = line
        super().__init__(problem if line is None else f"line {line}: {problem}")
