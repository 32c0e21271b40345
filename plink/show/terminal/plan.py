"""A plan and what it was chosen from, as a table for people and an object for programs."""

from __future__ import annotations

from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from plink.base.size import format_size
from plink.base.text import bytes_text, counted, printable, rtt_text
from plink.optimize.plans.candidates import Candidate
from plink.optimize.plans.planning import Planned

_TITLES = ("predicted", "of the bound", "between groups", "on the wire", "rounds")


def print_plan(console: Console, source: str, found: Planned) -> None:
    """Print what every kind is predicted to take, and which one was chosen.

    Args:
        console: where.
        source: what messages call the cluster file.
        found: the plan.
    """
    console.print(Text(_heading(source, found), style="bold"))
    console.print()
    console.print(_table(found))
    console.print()
    console.print(Text(found.reason))
    for refused in found.refused:
        console.print(Text(f"no {refused.kind}: {refused.reason}", style="dim"))


def to_json(found: Planned) -> dict[str, Any]:
    """What `--json` prints: all but the routes themselves."""
    plan = found.plan
    return {
        "kind": plan.kind,
        "reason": found.reason,
        "size_bytes": plan.size_bytes,
        "ranks": len(plan.ranks),
        "hosts": max(plan.host_of) + 1,
        "groups": len(plan.groups),
        "routes": plan.forest.routes,
        "bound_s": plan.bound_s,
        "balance": found.chosen.measures.balance,
        "candidates": [_candidate(each) for each in found.candidates],
        "refused": [vars(refused) for refused in found.refused],
        "assumptions": list(plan.assumptions),
        "seed": plan.seed,
        "made_from": plan.made_from,
    }


def _candidate(candidate: Candidate) -> dict[str, Any]:
    measures = candidate.measures
    return {
        "kind": candidate.kind,
        "time_s": candidate.time_s,
        "routes": candidate.forest.routes,
        "rounds": measures.rounds,
        "wire_bytes": measures.wire_bytes,
        "cross_group_bytes": measures.cross_group_bytes,
        "balance": measures.balance,
    }


def _heading(source: str, found: Planned) -> str:
    plan = found.plan
    hosts = max(plan.host_of) + 1
    parts = [format_size(plan.size_bytes), f"on {counted(hosts, 'host')}"]
    if plan.groups:
        parts.append(f"in {counted(len(plan.groups), 'group')}")
    ranks = "" if hosts == len(plan.ranks) else f", {counted(len(plan.ranks), 'rank')}"
    return f"{printable(source)}: {' '.join(parts)}{ranks}"


def _table(found: Planned) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="cyan")
    table.add_column("kind", no_wrap=True)
    for title in _TITLES:
        table.add_column(title, justify="right", no_wrap=True)
    bound_s = found.plan.bound_s or 0.0
    for candidate in sorted(found.candidates, key=lambda each: each.time_s):
        style = "bold" if candidate is found.chosen else ""
        table.add_row(candidate.kind, *_cells(candidate, bound_s), style=style)
    table.add_row("bound", rtt_text(bound_s * 1e6), style="dim")
    return table


def _cells(candidate: Candidate, bound_s: float) -> list[str]:
    measures = candidate.measures
    return [
        rtt_text(candidate.time_s * 1e6),
        f"{candidate.time_s / bound_s:.2f} x" if bound_s else "-",
        bytes_text(measures.cross_group_bytes),
        bytes_text(measures.wire_bytes),
        str(measures.rounds),
    ]
