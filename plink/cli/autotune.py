"""`plink autotune`: keep a plan fitted to the network, or look at how one is or was kept."""

from __future__ import annotations

from typing import Any

import click

from plink.base.errors import WrongUseError
from plink.cli.sections import SectionedCommand, options_of
from plink.cli.ssh_options import take_ssh_options, with_ssh_options

_serving = options_of("While training runs")
_probing = options_of("To probe hosts again")
_attaching = options_of("From another terminal")
_looking = options_of("Afterwards")


@click.command(
    cls=SectionedCommand,
    epilog="Example: plink autotune plan.json --listen 10.0.0.1:7000 --log autotune.log --watch",
)
@click.argument("plans", nargs=-1, metavar="[NAME=]PLAN...")
@_serving(
    "--listen",
    metavar="HOST:PORT",
    help="Where ranks report; 0.0.0.0 or [::] for all addresses, port 0 for any.",
)
@_serving(
    "--secret-file",
    metavar="FILE",
    help="The job's secret; made if it is not there (default: PLAN.secret).",
)
@_serving("--log", metavar="FILE", help="Write what is measured and decided, and go on from it.")
@_serving("--metrics", metavar="HOST:PORT", help="Serve Prometheus metrics there.")
@_serving("--watch", is_flag=True, help="Show the jobs on the terminal.")
@_probing(
    "--cluster",
    metavar="FILE",
    help="Where tuning cannot help, probe hosts again; this cluster file says how. It is renewed.",
)
@_probing("--hosts", metavar="FILE", help="The same with a host list, where nothing was measured.")
@_probing(
    "-o",
    "--output",
    metavar="FILE",
    help="Where the renewed cluster file goes (default: that of --cluster).",
)
@with_ssh_options
@_attaching(
    "--attach",
    metavar="HOST:PORT",
    help="Show a job of the daemon that runs there; it needs the job's --secret-file.",
)
@_attaching("--job", metavar="NAME", help="Which one, if the daemon has several.")
@_looking(
    "--replay",
    metavar="LOG",
    help="Decide again on what this log has measured, and compare.",
)
@_looking("--all", "has_all", is_flag=True, help="Print every decision, not changes only.")
@_looking(
    "--json",
    "as_json",
    is_flag=True,
    help="Print all decisions as JSON; with --attach the job, with --watch too every change of it.",
)
def command(**options: Any) -> int:
    """Keep the plans of running jobs fitted to the network, until interrupted.

    The ranks of a job report what their iterations take and what the kernel knows of their
    connections; where another plan promises more, they are given one. Prints the environment with
    which the job is started. Training needs no daemon to go on, and a daemon that is started again
    goes on where its log ends. SIGUSR1: probe all hosts again now.

    Or replay a log (`-`: standard input): what was measured, and what is decided on it. Exit code
    4: the decisions are others than the log has.
    """
    ssh = take_ssh_options(options)
    names = ("listen", "secret_file", "log", "metrics", "cluster", "hosts", "output")
    serving = {name: options[name] for name in names}
    if options["replay"] is not None:
        if options["plans"] or options["watch"] or any(serving.values()):
            raise WrongUseError("--replay takes a log alone, no plan and nothing to serve")
        if options["attach"] is not None or options["job"] is not None:
            raise WrongUseError("--replay looks at a log, and --attach at a running daemon")
        from plink.cli.autotune_action import run_replay  # noqa: PLC0415  numpy would slow `--help`

        return run_replay(options["replay"], has_all=options["has_all"], as_json=options["as_json"])
    if options["has_all"]:
        raise WrongUseError("--all is for --replay")
    if options["attach"] is not None:
        if options["plans"] or any(serving[name] for name in names if name != "secret_file"):
            raise WrongUseError("--attach takes an address and a secret, no plan to serve")
        from plink.cli.autotune_attach import run as attach  # noqa: PLC0415  numpy

        return attach(
            options["attach"],
            options["secret_file"],
            options["job"],
            as_json=options["as_json"],
            is_watching=options["watch"],
        )
    if options["as_json"] or options["job"] is not None:
        raise WrongUseError("--json and --job are for --attach and --replay")
    if not options["plans"] or options["listen"] is None:
        raise WrongUseError(
            "expected a plan and --listen, or --attach, or --replay", "plink autotune --help"
        )
    from plink.cli.autotune_serve import Request, run  # noqa: PLC0415  numpy would slow `--help`

    return run(Request(options["plans"], watch=options["watch"], ssh=ssh, **serving))
