"""The command line. Commands are imported only when called, so that `--help` is instant."""

from __future__ import annotations

import importlib
import os
import sys
from typing import Any

import click

from plink import __version__
from plink.errors import PlinkError, WrongUseError
from probes.errors import HostError, ProbesError

# name: (module, one-line help). The help stands here so that listing imports no command.
COMMANDS = {
    "probe": ("plink.cli.probe", "Measure every pair of hosts over SSH into a cluster file."),
    "show": ("plink.cli.show", "Look at a cluster or an order file."),
    "order": ("plink.cli.order", "Find a better rank order and write the launcher's file."),
    "bench": ("plink.cli.bench", "Run a real client in several orders and compare."),
    "import": ("plink.cli.import_", "Make a cluster file from a CSV matrix."),
    "export": ("plink.cli.export", "Write a measured matrix as CSV."),
}

EXIT_INTERRUPTED = 130


class LazyGroup(click.Group):
    """A group that knows its commands' names and help without importing them."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        """The commands, in the order in which they are used."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        """Import one command. Its module holds it under the name `command`."""
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = importlib.import_module(COMMANDS[cmd_name][0]).command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        """List the commands from the table above."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in COMMANDS.items()])


@click.group(
    cls=LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Example: plink probe hosts.txt -o cluster.json && plink order cluster.json --algo ring",
)
@click.version_option(__version__, prog_name="plink")
def cli() -> None:
    """Find out how rented machines are wired, and make collective communication follow it."""


def main(arguments: list[str] | None = None) -> None:
    """Run the command line and exit: every expected error becomes one sentence and a hint."""
    sys.exit(run(arguments))


def run(arguments: list[str] | None = None) -> int:
    """Run the command line; return the exit code (`plink.errors`)."""
    try:
        result: Any = cli.main(args=arguments, prog_name="plink", standalone_mode=False)
    except click.exceptions.Exit as error:
        return error.exit_code
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except (PlinkError, ProbesError) as error:
        translated = error if isinstance(error, PlinkError) else _translate(error)
        complain(translated)
        return translated.exit_code
    except (KeyboardInterrupt, click.Abort):
        click.echo("interrupted", err=True)
        return EXIT_INTERRUPTED
    return result if isinstance(result, int) else 0


def complain(error: PlinkError) -> None:
    """Write an error and its hint to standard error."""
    color = False if os.environ.get("NO_COLOR") else None
    click.echo(f"{click.style('error:', fg='red')} {error}", err=True, color=color)
    if error.hint:
        click.echo(f"{click.style('hint:', fg='cyan')} {error.hint}", err=True, color=color)


def _translate(error: ProbesError) -> PlinkError:
    """A host that fails is no fault of the user's; a wrong list or option is."""
    if isinstance(error, HostError):
        return PlinkError(f"{error.host}: {error}", error.hint)
    return WrongUseError(str(error), error.hint)
