"""`plink autotune`: adapt plans of running jobs to the network, or inspect such a run."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

import click

from plink.base.errors import EXIT_CHANGED, WrongUseError
from plink.base.lazy import lazy_imports
from plink.base.request import option
from plink.base.text import format_count, printable
from plink.cli.autotune_request import DaemonRequest
from plink.cli.json_output import json_option, print_json_line
from plink.cli.options import SectionedCommand, VerbGroup
from plink.cli.request_options import with_request
from plink.cli.stderr import host_tls, note, read_kept_secret, warn
from plink.cli.way_options import ReachOptions, with_reach_options

with lazy_imports():
    from rich import live as rich_live

    from plink.autotune.daemon import attaching, terminal
    from plink.autotune.log import records
    from plink.autotune.log import replay as log_replay
    from plink.autotune.protocol import handshake
    from plink.autotune.protocol import status as protocol_status
    from plink.autotune.ranks import settings
    from plink.autotune.tuner import interface as tuner_interface
    from plink.cli import autotune_serve
    from plink.formats import document
    from plink.transport import addresses, proofs


@click.group(
    cls=VerbGroup,
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
@with_request(DaemonRequest)
@with_reach_options
def serve(*, plans: Sequence[str], request: DaemonRequest, reach: ReachOptions) -> int:
    """Keep the plans of running jobs fitted to the network, until interrupted.

    The ranks of a job report how long their iterations take and what the kernel knows of their
    connections; where another plan promises more, they are given it. Prints the environment with
    which the job is to be started. Training goes on without the daemon, and a daemon that is
    started again resumes where its log ends. SIGUSR1: probe all hosts again now.
    """
    return autotune_serve.run(plans, request, reach)


@dataclass(frozen=True, kw_only=True)
class AttachRequest:
    """Options of `plink autotune attach`: the job, and how to prove the right to see it."""

    secret_file: str | None = option(
        None,
        metavar="FILE",
        help="File with the job's secret (default: PLINK_AUTOTUNE_SECRET_FILE).",
    )
    tls: str | None = option(
        None,
        metavar="FOLDER",
        help="Folder with this end's certificate, if the daemon uses TLS (default: PLINK_TLS).",
    )
    job: str | None = option(
        None, metavar="NAME", help="Name of the job, if the daemon has several."
    )
    as_json: bool = option(False, "--json", help="Print the job as JSON, once.")
    is_watching: bool = option(
        False, "--watch", help="With --json: print a line for every change of the job."
    )

    def read_secret(self) -> bytes:
        """Read the secret of a tuned job from its file or the environment."""
        if self.secret_file is not None:
            return read_kept_secret(self.secret_file)
        secret = handshake.secret_of(os.environ)
        if secret is None:
            raise WrongUseError(
                "attaching needs the job's secret",
                "give --secret-file PLAN.secret, the file that the daemon uses",
            )
        return secret


@command.command(
    short_help="Show a job of a running daemon.",
    epilog="Example: plink autotune attach 10.0.0.1:7000 --secret-file plan.json.secret",
)
@click.argument("address", metavar="HOST:PORT")
@with_request(AttachRequest)
def attach(*, address: str, request: AttachRequest) -> int:
    """Show a job that the daemon at HOST:PORT tunes, from any terminal that reaches the daemon.

    Nothing of the job can be changed from there.
    """
    host, port = addresses.parse_address(address, "the daemon's address")
    name = request.job or os.environ.get(settings.JOB_VARIABLE) or handshake.DEFAULT_JOB
    if not proofs.is_name(name):
        raise WrongUseError(f"--job is {name!r}, expected letters, digits, '_', '.' and '-'")
    secret, files = request.read_secret(), host_tls(request.tls)
    try:
        with attaching.attach(host, port, secret, name, files) as viewer:
            if not request.as_json:
                _show(viewer)
            elif request.is_watching:
                _print_changes(viewer)
            else:
                print_json_line(protocol_status.to_json(viewer.look()))
    except KeyboardInterrupt:
        pass
    return 0


@command.command(
    short_help="Decide again on a log's measurements, and compare.",
    epilog="Example: plink autotune replay autotune.log --all",
)
@click.argument("log", metavar="LOG")
@click.option(
    "--all", "has_all", is_flag=True, help="Print every decision, not only changes of the plan."
)
@json_option("Print all decisions as JSON.")
def replay(log: str, *, has_all: bool, as_json: bool) -> int:
    """Repeat the tuner's decisions from the measurements in a log (`-`: stdin), and compare.

    Prints what was measured and what is decided on it. Exit code 4: the decisions differ from
    those in the log.
    """
    start, entries = records.read(log)
    try:
        replayed = list(log_replay.replay(start, entries))
    except ValueError as error:  # the plan has no masters, or the state is not valid
        raise WrongUseError(f"{document.label(log)}: cannot be replayed: {error}") from None
    if as_json:
        hosts = list(dict.fromkeys(rank.host for rank in start.plan.ranks))
        print_json_line([_describe_decision(each, hosts) for each in replayed])
    else:
        _print_decisions(replayed, has_all=has_all)
    others = [number for number, each in enumerate(replayed, 2) if not each.is_same]
    if not others:
        return 0
    first = replayed[others[0] - 2].entry
    warn(
        f"decisions differ from the log: {len(others)} of "
        f"{format_count(len(replayed), 'decision')}, "
        f"the first in line {others[0]}: {first.action.value}, {first.reason}",
        "the log may be from another version of plink",
    )
    return EXIT_CHANGED


_REFRESH_S = 0.5


def _show(viewer: attaching.Viewer) -> NoReturn:
    with rich_live.Live(auto_refresh=False, screen=False) as live:
        while True:
            live.update(terminal.view([viewer.look()]), refresh=True)
            _pause()


def _print_changes(viewer: attaching.Viewer) -> NoReturn:
    before: Mapping[str, Any] = {}
    while True:
        now = protocol_status.to_json(viewer.look())
        if now != before:
            print_json_line(now)
            before = now
        _pause()


def _pause() -> None:
    time.sleep(_REFRESH_S)


def _print_decisions(replayed: Sequence[log_replay.Replayed], *, has_all: bool) -> None:
    begin_s = replayed[0].entry.now_s if replayed else 0.0
    shown = [
        each
        for each in replayed
        if has_all or each.decision.action is not tuner_interface.Action.WAIT
    ]
    for each in shown:
        decision, took_s = each.decision, each.entry.window.median_s
        click.echo(
            printable(
                f"{each.entry.now_s - begin_s:9.1f} s  {took_s:.4g} s an iteration  "
                f"plan {decision.plan}  {decision.action.value}: {decision.reason}"
            )
        )
    changes = sum(each.decision.forest is not None for each in replayed)
    windows = format_count(len(replayed), "measured window")
    note(f"{windows} of iterations, {format_count(changes, 'new plan')}")


def _describe_decision(
    each: log_replay.Replayed, hosts: Sequence[str]
) -> log_replay.ReplayedDecision:
    decision = each.decision
    return log_replay.ReplayedDecision(
        now_s=each.entry.now_s,
        iteration_s=each.entry.window.median_s,
        action=decision.action,
        reason=decision.reason,
        plan=decision.plan,
        is_new_plan=decision.forest is not None,
        hosts=decision.hosts,
        host_names=[hosts[host] for host in decision.hosts],
        of_groups=decision.masters.of_groups.tolist(),
        of_hosts=decision.masters.of_hosts.tolist(),
        is_as_logged=each.is_same,
    )
