"""``python -m certificates FILE...``: check certificates; status 0 if all of them hold."""

from __future__ import annotations

import sys
from pathlib import Path

from .checker import check_certificate
from .errors import CertificateError


def main(arguments: list[str]) -> int:
    """Check every file, and return 0 if all hold, else 2."""
    if not arguments or arguments[0] in {"-h", "--help"}:
        sys.stdout.write("usage: python -m certificates FILE...\n")
        return 0 if arguments else 2
    status = 0
    for argument in arguments:
        try:
            sys.stdout.write(f"{argument}: {check_certificate(Path(argument)).statement}\n")
        except CertificateError as error:
            sys.stderr.write(f"{argument}: {error}\n")
            status = 2
        except OSError as error:
            sys.stderr.write(f"{argument}: {error.strerror or error}\n")
            status = 2
        except MemoryError:
            sys.stderr.write(f"{argument}: checking it needs more memory than there is\n")
            status = 2
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
