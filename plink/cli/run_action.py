"""`plink run` behind its options: reach the hosts, run the job, say how it ended."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from plink.base.errors import EXIT_FAILED, PlinkError, WrongUseError
from plink.base.text import printable
from plink.cli.ssh_options import take_ssh_options
from plink.cli.stderr import print_error
from plink.deploy.launchers.format import places
from plink.deploy.remote.hosts import describe
from plink.deploy.run.command import rank_command
from plink.deploy.run.environment import rank_environments
from plink.deploy.run.job import Ended, run_job
from plink.files import document
from plink.files import order as order_file
from plink.files.cluster import Host
from plink.files.order import Order
from plink.measure.listed import as_listed
from plink.optimize.orders.slots import with_slots
from probes.reach import reach

_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def run_command(options: Mapping[str, Any]) -> int:
    """Carry out `plink run` with these options; return the exit code.

    Raises:
        WrongUseError: not an order, or a wrong option.
        PlinkError, HostError: a host cannot take part.
    """
    values = dict(options)
    ssh = take_ssh_options(values)
    order = order_file.read(values["order"])
    extra = _variables(values["variables"])
    ranked = _ranked(order, values["slots"])
    listed = [as_listed(host, document.label(values["order"])) for host in order.hosts]
    with reach(listed, ssh) as reached:
        for failure in reached.failures[:1]:
            raise failure
        found = describe(order.hosts, reached)
        by_name = {host.name: host for host in found}
        hosts = [replace(by_name[given.name].entry, slots=given.slots) for given in ranked]
        interfaces = {host.name: host.interface for host in found}
        environments = rank_environments(hosts, interfaces, values["master_port"], extra)
        folder = values["folder"] or str(Path.cwd())
        commands = [rank_command(folder, each, values["words"]) for each in environments]
        sessions = [by_name[place.host.name].session for place in places(hosts)]
        failed = run_job(sessions, commands, _show)
    return _exit_code(failed)


def _ranked(order: Order, slots: int | None) -> list[Host]:
    """The hosts in rank order, with as many slots as ranks in a row."""
    if slots is None:
        return order.ranked
    if order.host_of_rank is not None:
        raise WrongUseError(
            "the order has ranks of a host apart, which --nproc-per-host cannot change",
            "plink order CLUSTER --slots makes another one",
        )
    return with_slots(order.hosts, slots)


def _exit_code(failed: Ended | None) -> int:
    if failed is None:
        return 0
    place = f"rank {failed.rank} on {failed.host}"
    if failed.status is None:
        print_error(PlinkError(f"{place}: {failed.reason}"))
        return EXIT_FAILED
    print_error(PlinkError(f"{place} ended with exit status {failed.status}"))
    return failed.status


def _variables(assignments: Sequence[str]) -> dict[str, str]:
    found = {}
    for text in assignments:
        name, equals, value = text.partition("=")
        if not equals or not _VARIABLE.fullmatch(name):
            raise WrongUseError(f"--env {text!r} is not NAME=VALUE")
        found[name] = value
    return found


def _show(rank: int, line: str) -> None:
    click.echo(f"[{rank}] {printable(line)}")
