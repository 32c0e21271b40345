"""Command line of plink; command modules are imported when called, so that `--help` is fast."""

from __future__ import annotations

import difflib
import importlib
import os
import re
import sys
from typing import TYPE_CHECKING, Any

import click

from plink import __version__
from plink.base.errors import (
    EXIT_FAILED,
    EXIT_INTERRUPTED,
    NotJsonError,
    NotMeasuredError,
    PlinkError,
    WrongUseError,
)
from plink.base.interrupts import end_when_interrupted, end_with, raise_when_interrupted
from plink.base.output import (
    OUTPUT_ERRORS,
    fill_closed_descriptors,
    make_forgiving,
    output_error,
    tolerate,
)
from plink.base.text import format_names
from plink.cli.hints import build_measure_hint, command_speller, complete_resume_hint
from plink.cli.stderr import print_error
from plink.measure.errors import to_plink_error
from plink.probes.errors import ProbesError

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

# name: (module, one-line help). The help stands here so that listing imports no command.
COMMANDS = {
    "probe": ("plink.cli.probe", "Measure every pair of hosts over SSH into a cluster file."),
    "check": ("plink.cli.check", "Check whether a cluster file still describes its network."),
    "doctor": ("plink.cli.doctor", "Find what slows a cluster down, and what to try."),
    "show": ("plink.cli.show", "Display a cluster, an order, a plan, a log or a timeline."),
    "group": ("plink.cli.group", "Find the groups of hosts that are near each other."),
    "order": ("plink.cli.order", "Find a better rank order and write the launcher's file."),
    "plan": ("plink.cli.plan", "Compute an aggregation plan that follows the network."),
    "autotune": ("plink.cli.autotune", "Keep a plan fitted to the network while training runs."),
    "timeline": ("plink.cli.timeline", "Merge ranks' timelines, and show who waited for whom."),
    "predict": ("plink.cli.predict", "Predict the times of algorithms in an order."),
    "simulate": ("plink.cli.simulate", "Simulate algorithms, plans and traces at any scale."),
    "report": ("plink.cli.report", "Draw a cluster and its orders, or a tuned run, as a page."),
    "verify": ("plink.cli.verify", "Check that a launcher keeps an order, by running it."),
    "run": ("plink.cli.run_", "Start a job over SSH on the hosts in an order."),
    "renumber": ("plink.cli.renumber", "Run a command with ranks that follow an order."),
    "bench": ("plink.cli.bench", "Run real clients in several orders and compare."),
    "fit": ("plink.cli.fit", "Measure a client's software costs, for predictions."),
    "import": ("plink.cli.import_", "Make a cluster file from other programs' output."),
    "export": ("plink.cli.export", "Write a measured matrix as CSV, or groups as a topology."),
    "slurm-order": ("plink.cli.slurm_order", "Make the srun of a Slurm job follow an order."),
    "kube": ("plink.cli.kube", "Measure the nodes of a Kubernetes cluster, and label them."),
    "hub": ("plink.cli.hub", "Run parameter servers, and compute what they need."),
    "agent": ("plink.cli.agent", "Call plink from a host that it cannot reach."),
    "schema": ("plink.cli.schema", "Print the JSON Schema of a file or of what a verb prints."),
    "completion": ("plink.cli.completion", "Print a script for shell completion."),
}

# They compute with matrices for which one thread is enough. On a busy machine threads of OpenBLAS,
# which poll for each other, would take many times as long.
_ON_ONE_THREAD = ("doctor", "group", "show", "plan")
_EXTRA_ARGUMENTS = re.compile(r"(unexpected extra arguments? )\((.*)\)", re.DOTALL)


class _RunningContext(click.Context):
    """Click context of a running verb, from whose start Ctrl-C raises instead of ending at once."""

    def invoke(self, *arguments: Any, **keywords: Any) -> Any:
        """Call the verb's function, with interrupts set to raise so that results can be kept."""
        if not isinstance(self.command, click.Group):
            raise_when_interrupted()
        return super().invoke(*arguments, **keywords)


def _use_running_context(command: click.Command) -> None:
    command.context_class = _RunningContext
    for verb in command.commands.values() if isinstance(command, click.Group) else ():
        _use_running_context(verb)


class LazyGroup(click.Group):
    """Command group that lists its commands with help from a table, without importing them."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        """Return the commands' names in the order of use."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import the module of a command and return the command; None for an unknown name."""
        if cmd_name not in COMMANDS:
            return None
        if cmd_name in _ON_ONE_THREAD:
            os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
        command: click.Command = importlib.import_module(COMMANDS[cmd_name][0]).command
        _use_running_context(command)
        if ctx.resilient_parsing:  # to complete a command line
            from plink.cli import completion  # noqa: PLC0415  few command lines are completed

            completion.add_completion(command)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command of some arguments, or raise with a suggestion which one may be meant."""
        name = args[0]
        if name not in COMMANDS and not name.startswith("-") and not ctx.resilient_parsing:
            nearest = difflib.get_close_matches(name, COMMANDS, n=1)
            hint = f"did you mean {nearest[0]}?" if nearest else f"{ctx.command_path} --help"
            raise WrongUseError(f"there is no command {name!r}", hint)
        return super().resolve_command(ctx, args)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Complete a command's name from the table, or an option of any command."""
        from plink.cli import completion  # noqa: PLC0415  few command lines are completed

        named = [(name, text) for name, (_, text) in COMMANDS.items()]
        options = click.Command.shell_complete(self, ctx, incomplete)
        return completion.items(named, incomplete) + options

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; errors that it raises name arguments as command-line options."""
        try:
            return super().invoke(ctx)
        except (PlinkError, ProbesError) as raised:
            error = _as_plinks(raised)
            command = self.get_command(ctx, ctx.invoked_subcommand or "")
            message, error.hint = error.spell(command_speller(command))
            error.args = (message,)
            if isinstance(error, NotMeasuredError):
                error.hint = complete_resume_hint(error)
            if isinstance(error, NotJsonError):
                error.hint = build_measure_hint(error)
            raise error from raised.__cause__

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        """Write the list of commands from the table."""
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
    """Run the command line and exit; expected errors are printed as one sentence and a hint.

    Being told to end, or a terminal that closes, is the same as Ctrl-C: results so far are kept,
    and hosts are left as they were. Talk on standard error never fails a result.
    """
    fill_closed_descriptors()
    end_when_interrupted()
    sys.stderr = make_forgiving(sys.stderr)
    if sys.stdout is not None:
        tolerate(sys.stdout)
    try:
        code = run(arguments)
    except KeyboardInterrupt:  # another one, while the first one ended the command
        code = EXIT_INTERRUPTED
    end_with(code)
    try:
        if sys.stdout is not None:
            sys.stdout.flush()
    except OSError:
        _drop_output()
    sys.exit(code)


def run(arguments: list[str] | None = None) -> int:
    """Run a command line and return its exit code; errors are printed on standard error."""
    try:
        result: Any = cli.main(args=arguments, prog_name="plink", standalone_mode=False)
        if sys.stdout is not None:
            sys.stdout.flush()
    except click.exceptions.Exit as error:
        return error.exit_code
    except click.ClickException as error:
        if isinstance(error, click.exceptions.NoArgsIsHelpError):
            click.echo(error.format_message(), err=True)
        else:
            print_error(_to_usage_error(error))
        return error.exit_code
    except (PlinkError, ProbesError, MemoryError) as error:
        as_plinks = _as_plinks(error)
        print_error(as_plinks)
        return as_plinks.exit_code
    except OSError as error:
        is_broken_pipe = isinstance(error, BrokenPipeError)
        if error.filename is not None or not (is_broken_pipe or error.errno in OUTPUT_ERRORS):
            raise
        _drop_output()
        if not is_broken_pipe:
            print_error(output_error(error))
        return EXIT_FAILED
    except (KeyboardInterrupt, click.Abort):
        click.echo("interrupted", err=True)
        return EXIT_INTERRUPTED
    return result if isinstance(result, int) else 0


def _as_plinks(error: PlinkError | ProbesError | MemoryError) -> PlinkError:
    if isinstance(error, MemoryError):
        return PlinkError("there is not enough memory for this command")
    return error if isinstance(error, PlinkError) else to_plink_error(error)


def _to_usage_error(error: click.ClickException) -> PlinkError:
    """Convert click's usage error to a `WrongUseError` that hints at the command's --help."""
    text = error.format_message()
    if isinstance(error, click.MissingParameter):
        # Of a missing choice, click lists the choices on lines of their own.
        text = " ".join(text.split()).replace(". Choose from:", ", one of:")
    message = _EXTRA_ARGUMENTS.sub(_shorten_arguments, text.rstrip("."))
    context = getattr(error, "ctx", None)
    hint = None if context is None else f"{context.command_path} --help"
    return WrongUseError(message[:1].lower() + message[1:], hint)


def _shorten_arguments(found: re.Match[str]) -> str:
    """Shorten the list of unexpected arguments in click's error to the first few."""
    return f"{found[1]}({format_names(found[2].split())})"


def _drop_output() -> None:
    """Discard unwritten output, which Python would otherwise try to write again at exit."""
    try:
        descriptor = sys.stdout.fileno()
    except (OSError, ValueError):
        return
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, descriptor)
    os.close(nowhere)
