"""Action of `plink autotune replay`: read a log, decide again, compare."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click

from plink.autotune.log import records
from plink.autotune.log.replay import Replayed, replay
from plink.autotune.tuner.interface import Action
from plink.base.errors import EXIT_CHANGED, WrongUseError
from plink.base.text import format_count, json_text, printable
from plink.cli.stderr import note, warn
from plink.files import document


def run(path: str, *, has_all: bool, as_json: bool) -> int:
    """Print the decisions on a log's measurements; return the exit code.

    Raises:
        WrongUseError: not a log, or one of a plan that cannot be tuned.
    """
    start, entries = records.read(path)
    try:
        replayed = list(replay(start, entries))
    except ValueError as error:  # the plan has no masters, or the state is not valid
        raise WrongUseError(f"{document.label(path)}: {error}") from None
    if as_json:
        hosts = list(dict.fromkeys(rank.host for rank in start.plan.ranks))
        text = json_text([_to_json(each, hosts) for each in replayed])
        document.write_bytes(document.STANDARD_STREAM, f"{text}\n".encode())
    else:
        _print(replayed, has_all=has_all)
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


def _print(replayed: Sequence[Replayed], *, has_all: bool) -> None:
    begin_s = replayed[0].entry.now_s if replayed else 0.0
    shown = [each for each in replayed if has_all or each.decision.action is not Action.WAIT]
    for each in shown:
        decision, took_s = each.decision, each.entry.window.median_s
        click.echo(
            printable(
                f"{each.entry.now_s - begin_s:9.1f} s  {took_s:.4g} s an iteration  "
                f"plan {decision.plan}  {decision.action.value}: {decision.reason}"
            )
        )
    changes = sum(each.decision.forest is not None for each in replayed)
    note(f"{format_count(len(replayed), 'window')}, {format_count(changes, 'new plan')}")


def _to_json(each: Replayed, hosts: Sequence[str]) -> dict[str, Any]:
    decision = each.decision
    return {
        "now_s": each.entry.now_s,
        "iteration_s": each.entry.window.median_s,
        "action": decision.action.value,
        "reason": decision.reason,
        "plan": decision.plan,
        "is_new_plan": decision.forest is not None,
        "hosts": list(decision.hosts),
        "host_names": [hosts[host] for host in decision.hosts],
        "of_groups": decision.masters.of_groups.tolist(),
        "of_hosts": decision.masters.of_hosts.tolist(),
        "is_as_logged": each.is_same,
    }
