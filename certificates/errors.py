"""Error of a certificate that does not prove its claim."""

from __future__ import annotations


class CertificateError(ValueError):
    """Error of a certificate that does not prove its claim, or of a file that is not one.

    Parameters
    ----------
    problem
        What is wrong; what it cites of a file is made to fit one line.
    line
        Number of the line in the uncompressed file, from 1; None where it is no single line.
    """

    def __init__(self, problem: str, line: int | None = None) -> None:
        self.problem = on_one_line(problem)
        self.line = line
        super().__init__(self.problem if line is None else f"line {line}: {self.problem}")


def on_one_line(text: str) -> str:
    """Return a text on one line, without line breaks and control characters."""
    return "".join(letter if letter.isprintable() else "?" for letter in text[:1000])
