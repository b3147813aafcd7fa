"""The command line, and its entry, which answers Ctrl-C while the command line is still loading."""

from __future__ import annotations

import sys

# As a shell counts: 128 and the number of the signal.
INTERRUPTED = 130


def run() -> None:
    """Load the command line, which takes most of a second, and run it."""
    try:
        from jettison.cli.main import main
    except KeyboardInterrupt:
        sys.stderr.write("interrupted\n")
        sys.exit(INTERRUPTED)
    main()
