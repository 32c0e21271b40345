"""What groups exchange, as a table for people."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from plink.base.text import bandwidth_text, printable
from plink.files.cluster import Cluster
from plink.files.groups import Uplink

HEADER = ("group", "hosts", "sends", "receives", "hosts' links", "oversubscribed")
_UNKNOWN = "-"


def uplink_lines(cluster: Cluster) -> list[str]:
    """The table of a cluster's uplinks, heading first; empty where none was measured."""
    if cluster.uplinks is None:
        return []
    lines = aligned([HEADER, *uplink_rows(cluster)])
    if any(uplink.send_is_lower_bound or uplink.receive_is_lower_bound for uplink in _all(cluster)):
        lines.append("≥: at least; something else, as the other groups' links, may be the limit")
    return lines


def uplink_rows(cluster: Cluster) -> list[tuple[str, ...]]:
    """A row of texts an uplink, under `HEADER`."""
    sizes = {group.name: len(group.hosts) for group in cluster.groups}
    return [_row(uplink, sizes.get(uplink.group)) for uplink in _all(cluster)]


def oversubscription(uplink: Uplink) -> float | None:
    """How many times more a group's hosts can do by themselves than its uplink carries."""
    carried = [rate for rate in (uplink.send_gbit_s, uplink.receive_gbit_s) if rate]
    if uplink.hosts_gbit_s is None or not carried:
        return None
    return max(1.0, uplink.hosts_gbit_s / min(carried))


def aligned(rows: Sequence[Sequence[str]], left: Collection[int] = (0,)) -> list[str]:
    """Rows as lines of columns; those numbered in `left` begin together, the others end so."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(
            cell.ljust(width) if number in left else cell.rjust(width)
            for number, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]


def _all(cluster: Cluster) -> Sequence[Uplink]:
    return () if cluster.uplinks is None else cluster.uplinks.uplinks


def _row(uplink: Uplink, hosts: int | None) -> tuple[str, ...]:
    ratio = oversubscription(uplink)
    # The ratio is of the smaller direction; what that one has as its least is the ratio's most.
    least = min((rate, bound) for rate, bound in _directions(uplink)) if ratio else (0.0, False)
    return (
        printable(uplink.group),
        _UNKNOWN if hosts is None else str(hosts),
        _rate(uplink.send_gbit_s, is_lower_bound=uplink.send_is_lower_bound),
        _rate(uplink.receive_gbit_s, is_lower_bound=uplink.receive_is_lower_bound),
        _rate(uplink.hosts_gbit_s),
        _UNKNOWN if ratio is None else f"{'≤ ' if least[1] else ''}{ratio:.1f}:1",
    )


def _directions(uplink: Uplink) -> list[tuple[float, bool]]:
    both = (
        (uplink.send_gbit_s, uplink.send_is_lower_bound),
        (uplink.receive_gbit_s, uplink.receive_is_lower_bound),
    )
    return [(rate, bound) for rate, bound in both if rate]


def _rate(gbit_s: float | None, *, is_lower_bound: bool = False) -> str:
    if gbit_s is None:
        return _UNKNOWN
    return f"{'≥ ' if is_lower_bound else ''}{bandwidth_text(gbit_s)}"
