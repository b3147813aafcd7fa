"""The command `jettison`: one module per family of commands, exit codes in one place."""

from __future__ import annotations

import sys
from collections.abc import Sequence

import typer

from jettison.cli import (
    bound_command,
    compare_command,
    export_command,
    generate_command,
    generate_graphs,
    generate_models,
    import_command,
    list_command,
    profile_command,
    report_command,
    show_command,
    solve_command,
    sweep_command,
    verify_command,
)
from jettison.instances.errors import InputError, JettisonError, MissingExtraError

HELP = """How fast can this model train in this much memory, and how far from the best is a plan?

Exit status: 0 solved or proved, 1 internal error, 2 bad input, 3 proved infeasible,
4 a limit was reached with a schedule in hand, 5 no schedule was found and none was ruled out.
"""

app = typer.Typer(
    name="jettison",
    help=HELP,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
app.command("solve")(solve_command.solve)
app.command("bound")(bound_command.bound)
app.command("compare")(compare_command.compare)
app.command("show")(show_command.show)
app.add_typer(list_command.app, name="list")
app.add_typer(import_command.app, name="import")
app.command("profile")(profile_command.profile)
app.command("export")(export_command.export)
generate_command.app.add_typer(generate_graphs.app)
generate_command.app.add_typer(generate_models.app)
app.add_typer(generate_command.app, name="generate")
app.command("sweep")(sweep_command.sweep)
app.command("report")(report_command.report)
app.command("verify")(verify_command.verify)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and exit with its status."""
    try:
        app(args=None if arguments is None else list(arguments))
    except (InputError, MissingExtraError) as error:
        sys.stderr.write(f"error: {error}\n")
        sys.exit(2)
    except JettisonError as error:
        sys.stderr.write(f"internal error: {error}\n")
        sys.exit(1)
    except KeyboardInterrupt:
        sys.stderr.write("interrupted\n")
        sys.exit(130)
    except BrokenPipeError:
        # The reader of the output has left (`jettison list instances | head`): nothing is wrong.
        sys.stderr.close()
        sys.exit(0)
