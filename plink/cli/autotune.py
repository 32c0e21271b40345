"""`plink autotune`: keep plans fitted to the network, or inspect how that is done."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import Any

import click

from plink.base.errors import WrongUseError
from plink.cli.options import SectionedCommand, options_of
from plink.cli.stderr import note
from plink.cli.way_options import take_way, with_way_options
from plink.probes.options import SSH

_probing = options_of("To probe hosts again")


class AutotuneVerbs(click.Group):
    """Command group of the tuner, which also accepts a command line without a verb."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        """Return the verbs in the order of use."""
        return list(self.commands)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Insert the verb that an old spelling implies, with a note."""
        if args and args[0] not in self.commands:
            now = with_verb(args)
            if now is not None and not ctx.resilient_parsing:
                note(f"use the present spelling: plink autotune {shlex.join(now)}")
            args = args if now is None else now
        return super().parse_args(ctx, args)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the verb, or list the existing ones."""
        if args[0] not in self.commands and not ctx.resilient_parsing:
            raise WrongUseError(
                f"plink autotune has no verb {args[0]!r}, expected {', '.join(self.commands)}",
                "plink autotune serve PLAN --listen HOST:PORT",
            )
        return super().resolve_command(ctx, args)


def with_verb(arguments: Sequence[str]) -> list[str] | None:
    """Return an old spelling of the command line with a verb first; None if it is none.

    Args:
        arguments: behind `plink autotune`, as in `PLAN --listen HOST:PORT`, `--attach HOST:PORT`
            or `--replay LOG`.
    """
    for verb in ("replay", "attach"):
        for place, word in enumerate(arguments):
            before, after = arguments[:place], arguments[place + 1 :]
            if word.startswith(f"--{verb}="):
                return [verb, word.partition("=")[2], *before, *after]
            if word == f"--{verb}" and after:
                return [verb, after[0], *before, *after[1:]]
    is_serving = any(word.partition("=")[0] == "--listen" for word in arguments)
    return ["serve", *arguments] if is_serving else None


@click.group(
    cls=AutotuneVerbs,
    no_args_is_help=True,
    epilog="Example: plink autotune serve plan.json --listen 10.0.0.1:7000 --log autotune.log",
)
def command() -> None:
    """Keep the plans of running jobs fitted to the network while they train."""


@command.command(
    cls=SectionedCommand,
    short_help="Keep the plans of running jobs fitted to the network.",
    epilog="Example: plink autotune serve plan.json --listen 10.0.0.1:7000 --log autotune.log "
    "--watch",
)
@click.argument("plans", nargs=-1, required=True, metavar="[NAME=]PLAN...")
@click.option(
    "--listen",
    required=True,
    metavar="HOST:PORT",
    help="Address at which ranks report; 0.0.0.0 or [::] for all addresses, port 0 for any port.",
)
@click.option(
    "--secret-file",
    metavar="FILE",
    help="File with the job's secret; created if it does not exist (default: PLAN.secret).",
)
@click.option(
    "--tls",
    metavar="FOLDER",
    help="Use TLS only, with the certificate in this folder (plink plan --certificates).",
)
@click.option(
    "--log", metavar="FILE", help="File to log measurements and decisions to, and to resume from."
)
@click.option(
    "--metrics", metavar="HOST:PORT", help="Address at which to serve Prometheus metrics."
)
@click.option(
    "--watch", "is_watching", is_flag=True, help="Show the jobs on the terminal, continuously."
)
@click.option(
    "--json", "as_json", is_flag=True, help="Print every job's environment as one line of JSON."
)
@_probing(
    "--cluster",
    metavar="FILE",
    help=(
        "Cluster file: where a new plan cannot help, its hosts are probed again and it is updated."
    ),
)
@_probing(
    "--hosts",
    metavar="FILE",
    help="Host list to probe where there is no cluster file yet; otherwise like --cluster.",
)
@_probing(
    "-o",
    "--output",
    metavar="FILE",
    help="Path of the updated cluster file (default: that of --cluster).",
)
@with_way_options
def serve(**options: Any) -> int:
    """Keep the plans of running jobs fitted to the network, until interrupted.

    The ranks of a job report how long their iterations take and what the kernel knows of their
    connections; where another plan promises more, they are given it. Prints the environment with
    which the job is to be started. Training goes on without the daemon, and a daemon that is
    started again resumes where its log ends. SIGUSR1: probe all hosts again now.
    """
    from plink.cli.autotune_serve import ServeOptions, run  # noqa: PLC0415  numpy: slow `--help`

    is_ssh_said = options["via"] == SSH
    return run(ServeOptions(way=take_way(options), is_ssh_said=is_ssh_said, **options))


@command.command(
    short_help="Show a job of a running daemon.",
    epilog="Example: plink autotune attach 10.0.0.1:7000 --secret-file plan.json.secret",
)
@click.argument("address", metavar="HOST:PORT")
@click.option(
    "--secret-file",
    metavar="FILE",
    help="File with the job's secret (default: PLINK_AUTOTUNE_SECRET_FILE).",
)
@click.option(
    "--tls",
    metavar="FOLDER",
    help="Folder with this end's certificate, if the daemon uses TLS (default: PLINK_TLS).",
)
@click.option("--job", metavar="NAME", help="Name of the job, if the daemon has several.")
@click.option("--json", "as_json", is_flag=True, help="Print the job as JSON, once.")
@click.option(
    "--watch",
    "is_watching",
    is_flag=True,
    help="With --json: print a line for every change of the job.",
)
def attach(**options: Any) -> int:
    """Show a job of the daemon that listens at HOST:PORT, from any terminal that reaches it.

    Nothing of the job can be changed from there.
    """
    from plink.cli.autotune_attach import run  # noqa: PLC0415  numpy would slow `--help`

    return run(**options)


@command.command(
    short_help="Decide again on a log's measurements, and compare.",
    epilog="Example: plink autotune replay autotune.log --all",
)
@click.argument("log", metavar="LOG")
@click.option(
    "--all", "has_all", is_flag=True, help="Print every decision, not only changes of the plan."
)
@click.option("--json", "as_json", is_flag=True, help="Print all decisions as JSON.")
def replay(log: str, *, has_all: bool, as_json: bool) -> int:
    """Decide again on the measurements in a log (`-`: standard input), and compare.

    Prints what was measured and what is decided on it. Exit code 4: the decisions differ from
    those in the log.
    """
    from plink.cli.autotune_replay import run  # noqa: PLC0415  numpy would slow `--help`

    return run(log, has_all=has_all, as_json=as_json)
