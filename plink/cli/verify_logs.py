"""Action of `plink verify --launcher nccl --log`: compare NCCL's logged rings with an order."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click

from plink.base.errors import EXIT_CHANGED, WrongUseError
from plink.base.text import format_count, format_names, json_text, printable
from plink.deploy.nccl_order import NcclOrder, Ring, nccl_order
from plink.files import document
from plink.files import order as order_file

_LAUNCHER = "nccl"
_MOST_HOSTS = 20


def verify_logs(values: Mapping[str, Any]) -> int:
    """Run the command with these options; return the exit code.

    Raises:
        WrongUseError: options that do not go together, or files that do not hold such a job.
        PlinkError: the logs lack ranks.
    """
    if values["launcher"] != _LAUNCHER:
        raise WrongUseError(f"--log applies to --launcher {_LAUNCHER}, not to {values['launcher']}")
    if values["words"] or values["program"] or values["python"]:
        raise WrongUseError("--log excludes --program, --python and a command: no job is started")
    order = order_file.read_order(values["order"])
    labels = [document.label(path) for path in values["logs"]]
    texts = [document.read_bytes(path).decode(errors="replace") for path in values["logs"]]
    found = nccl_order(order.runs, "\n".join(texts), format_names(labels))
    if values["as_json"]:
        click.echo(json_text(_to_json(found)))
    else:
        _print(found)
    return 0 if found.is_kept else EXIT_CHANGED


def _to_json(found: NcclOrder) -> dict[str, Any]:
    return {
        "launcher": _LAUNCHER,
        "kept": found.is_kept,
        "version": found.job.version,
        "networks": sorted(found.job.networks),
        "ranks": [vars(rank) for rank in found.ranks],
        "rings": [vars(ring) for ring in found.rings],
        "trees": found.trees,
        "other_trees": list(found.other_trees),
    }


def _print(found: NcclOrder) -> None:
    library = found.job.library
    version = f"{library} {found.job.version}" if found.job.version else library
    hosts = len({rank.found for rank in found.ranks})
    verdict = "follows" if found.is_kept else "does not follow"
    where = f"{format_count(len(found.ranks), 'rank')} on {format_count(hosts, 'host')}"
    lines = [f"{version} {verdict} the order: {where}, {format_count(len(found.rings), 'ring')}"]
    moved = [rank for rank in found.ranks if not rank.is_kept]
    if moved:
        first = moved[0]
        lines.append(
            f"{format_count(len(moved), 'rank')} elsewhere, the first: rank {first.rank} is on "
            f"{first.found}, in the order on {first.expected}"
        )
    other = [ring for ring in found.rings if not ring.is_kept]
    if other:
        rings = f"{len(other)} of {format_count(len(found.rings), 'ring')}"
        lines.append(f"another way than the order: {rings}; ring {_path(other[0])}")
        if found.ways > 1:
            lines.append(
                f"rings go through the hosts in {found.ways} ways: no order decides those that the "
                "library makes itself, as RCCL does on gfx1151"
            )
    else:
        lines.append(f"ring {_path(found.rings[0])}")
    if found.trees:
        lines.append(_trees(found))
    if found.job.networks:
        lines.append(f"between hosts: {', '.join(sorted(found.job.networks))}")
    for line in lines:
        click.echo(printable(line))


def _path(ring: Ring) -> str:
    shown = " ".join(ring.hosts[:_MOST_HOSTS])
    more = "" if ring.is_whole and len(ring.hosts) <= _MOST_HOSTS else " ..."
    return f"{ring.channel:02d} goes {shown}{more}"


def _trees(found: NcclOrder) -> str:
    if not found.other_trees:
        return f"trees: all {found.trees} join hosts as plink order --algo nccl-tree expects"
    return (
        f"trees: {len(found.other_trees)} of {found.trees} join other hosts than "
        "plink order --algo nccl-tree expects"
    )
