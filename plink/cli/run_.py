"""`plink run`: start a job over SSH in an order's rank order."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import click

from plink.base.errors import EXIT_FAILED, PlinkError, WrongUseError
from plink.base.lazy import lazy_imports
from plink.base.replacing import replace
from plink.base.request import option
from plink.base.text import printable
from plink.cli.json_output import json_option, print_json_line
from plink.cli.options import SectionedCommand
from plink.cli.request_options import with_request
from plink.cli.stderr import print_error
from plink.cli.way_options import ReachOptions, with_reach_options

with lazy_imports():
    from plink.deploy import run as deploy_run
    from plink.deploy.launchers import format as launcher_format
    from plink.deploy.remote import hosts as remote_hosts
    from plink.formats import document, outputs
    from plink.formats import hosts as file_hosts
    from plink.formats import order as order_file
    from plink.measure import listed as measure_listed
    from plink.optimize.orders import slots as orders_slots
    from plink.probes import reach as probes_reach


_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


@dataclass(frozen=True, kw_only=True)
class RunRequest:
    """Options of `plink run`: processes, their environment and working folder."""

    slots: int | None = option(
        None,
        "--nproc-per-host",
        low=1,
        high=1024,
        help="Processes on every host (default: the order's slots).",
    )
    master_port: int = option(29500, low=1, high=65535, help="Port on which rank 0 listens.")
    variables: tuple[str, ...] = option(
        (),
        "--env",
        kind="texts",
        metavar="NAME[=VALUE]",
        help="Variable to set for every rank; without a value, its value here.",
    )
    folder: str | None = option(
        None,
        "--cwd",
        metavar="DIR",
        help="Working folder on the hosts (default: this one, if it exists there).",
    )


@click.command(
    cls=SectionedCommand,
    epilog="Example: plink run order.json --nproc-per-host 8 -- python train.py --epochs 3",
)
@click.argument("file", metavar="ORDER")
@click.argument("words", nargs=-1, required=True, metavar="-- COMMAND...")
@with_request(RunRequest)
@with_reach_options
@json_option("Print lines of JSON: every line of output with its rank, and how the job ended.")
def command(
    *, file: str, words: Sequence[str], request: RunRequest, reach: ReachOptions, as_json: bool
) -> int:
    """Start a torch job on the hosts of an order, one process per rank, and wait for it.

    Every process finds RANK, WORLD_SIZE, LOCAL_RANK, LOCAL_WORLD_SIZE, MASTER_ADDR, MASTER_PORT and
    the measured network interface in its environment. Each line of output begins with its rank.
    When a process fails, or with Ctrl-C, all are ended; the exit code is the job's.
    """
    source = document.label(file)
    way = reach.resolve()
    order = order_file.read_order(file)
    way = measure_listed.apply_recorded_way(way, order.way, source)
    extra = _parse_variables(request.variables)
    ranked = _hosts_by_rank(order, request.slots)
    listed = [measure_listed.to_listed_host(host, source) for host in order.hosts]
    with probes_reach.reach(listed, way) as reached:
        for failure in reached.failures[:1]:
            raise failure
        found = remote_hosts.describe(order.hosts, reached)
        by_name = {host.name: host for host in found}
        hosts = [replace(by_name[given.name].entry, slots=given.slots) for given in ranked]
        interfaces = {host.name: host.interface for host in found}
        environments = deploy_run.rank_environments(hosts, interfaces, request.master_port, extra)
        folder = request.folder or str(Path.cwd())
        command = deploy_run.rank_command(folder, words, is_required=bool(request.folder))
        settings = [deploy_run.rank_settings(each) for each in environments]
        sessions = [by_name[place.host.name].session for place in launcher_format.places(hosts)]
        show = partial(show_line, as_json=as_json)
        failed = deploy_run.run_job(sessions, command, settings, show)
    return _print_end(failed, as_json=as_json)


def _hosts_by_rank(order: order_file.Order, slots: int | None) -> list[file_hosts.Host]:
    """Return the hosts in rank order, each entry with its number of adjacent ranks as slots."""
    if slots is None:
        return order.runs
    if order.host_of_rank is not None:
        raise WrongUseError(
            "--nproc-per-host needs an order in which the ranks of each host are adjacent",
            "make one with plink order CLUSTER --slots N, without --interleave",
        )
    return orders_slots.with_slots(order.hosts, slots)


def _print_end(failed: deploy_run.EndedRank | None, *, as_json: bool) -> int:
    """Print how the job ended: success, or the rank that failed; return the exit code."""
    status = 0 if failed is None else EXIT_FAILED if failed.status is None else failed.status
    if as_json:
        print_json_line(describe_end(failed, status))
    if failed is not None:
        how_it_ended = (
            f" ended with exit status {status}" if failed.reason is None else f": {failed.reason}"
        )
        print_error(PlinkError(f"rank {failed.rank} on {failed.host}{how_it_ended}"))
    return status


def show_line(rank: int, line: str, *, as_json: bool) -> None:
    """Print a line of a rank's output."""
    if as_json:
        print_json_line(outputs.OutputLine(rank, line))
    else:
        click.echo(f"[{rank}] {printable(line)}")


def describe_end(
    failed: deploy_run.EndedRank | None, status: int
) -> outputs.SucceededJob | outputs.FailedJob:
    """Return the end of a job as the struct that `plink run --json` prints."""
    if failed is None:
        return outputs.SucceededJob()
    return outputs.FailedJob(status, failed.rank, failed.host, failed.reason)


def _parse_variables(assignments: Sequence[str]) -> dict[str, str]:
    found = {}
    for text in assignments:
        name, equals, value = text.partition("=")
        if not _VARIABLE.fullmatch(name):
            raise WrongUseError(f"--env {name!r} is not the name of an environment variable")
        if not equals and name not in os.environ:
            raise WrongUseError(f"--env {name}: the variable is not set here")
        found[name] = value if equals else os.environ[name]
    return found
