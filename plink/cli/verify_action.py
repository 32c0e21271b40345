"""`plink verify` behind its options: run the launcher, compare, show."""

from __future__ import annotations

import json
import shlex
import socket
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from plink.base.errors import EXIT_CHANGED, WrongUseError
from plink.cli.ssh_options import take_ssh_options
from plink.deploy.remote.ssh_files import write_ssh_files
from plink.deploy.verify.compare import Rank, compare, reason
from plink.deploy.verify.launch import RANK_VARIABLES, Trial, default_command, run_trial
from plink.files import order as order_file
from plink.files.cluster import Host
from plink.show.terminal.paper import paper
from plink.show.terminal.verify import comparison


def run_command(options: Mapping[str, Any]) -> int:
    """Carry out `plink verify` with these options; return the exit code.

    Raises:
        WrongUseError: not an order, or a launcher that cannot be run.
        PlinkError: the launcher failed, or not every rank reported.
    """
    values = dict(options)
    ssh = take_ssh_options(values)
    order = order_file.read(values["order"])
    command = default_command(values["launcher"], values["program"])
    if values["words"]:
        if values["program"] is not None:
            raise WrongUseError("--program does not go with a command of your own")
        command = _own(values["words"])
    if values["python"] is not None and RANK_VARIABLES[values["launcher"]] != "RANK":
        raise WrongUseError(f"--python is not for {values['launcher']}", "see plink verify -h")
    trial = Trial(values["launcher"], command, values["python"], values["timeout_s"])
    with tempfile.TemporaryDirectory(prefix="plink-verify-") as name:
        folder = Path(name)
        # The launcher finds this `ssh` first, which reaches the hosts as plink does.
        write_ssh_files(folder, order.hosts, ssh)
        ranks = compare(order.ranked, run_trial(trial, order.ranked, folder))
    why = None if all(rank.is_kept for rank in ranks) else reason(ranks, _local(order.hosts))
    if values["as_json"]:
        click.echo(json.dumps(_to_json(trial, ranks, why), ensure_ascii=False))
    else:
        paper(None).console.print(comparison(trial.launcher, ranks, why))
    return 0 if all(rank.is_kept for rank in ranks) else EXIT_CHANGED


def _own(words: Sequence[str]) -> str:
    """The user's command as a shell line; a command of one word is a shell line already."""
    if len(words) == 1:
        return words[0]
    return shlex.join(words)


def _local(hosts: Sequence[Host]) -> str | None:
    """The host of the order that this machine is, or None."""
    own = socket.gethostname()
    names = {host.name for host in hosts}
    return next((name for name in (own, own.partition(".")[0]) if name in names), None)


def _to_json(trial: Trial, ranks: Sequence[Rank], why: str | None) -> dict[str, Any]:
    return {
        "launcher": trial.launcher,
        "command": trial.command,
        "kept": all(rank.is_kept for rank in ranks),
        "reason": why,
        "ranks": [vars(rank) for rank in ranks],
    }
