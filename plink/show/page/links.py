"""Bar charts of link rates: of every host, and of every group's uplink."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from plink.base.text import bandwidth_text
from plink.files.groups import Uplink
from plink.model.network import Capacity
from plink.show.page.parts import BETWEEN, NO_GROUP_COLOUR, WITHIN, Bar, Bars, Folded, Part
from plink.show.page.subject import Subject
from plink.show.summary import oversubscription

_FEW = 16
_SLOWEST = 8
_MOST_ROWS = 512


def host_bars(subject: Subject, known: Capacity) -> list[Part]:
    """Return two bars per host, the slowest first and the rest folded; None without rates."""
    rates = np.fmin(known.send_gbit_s, known.receive_gbit_s)
    if not np.isfinite(rates).any():
        return []
    # What was not measured is last.
    ranked = [int(host) for host in np.argsort(rates, kind="stable")]
    if len(ranked) <= _FEW:
        return [_hosts(subject, known, ranked, "What each host's link carries, slowest first")]
    some = f"What hosts' links carry, the {_SLOWEST} slowest"
    shown = ranked[:_MOST_ROWS]
    every = f"all {len(ranked):,}" if len(shown) == len(ranked) else f"the {_MOST_ROWS} slowest"
    return [
        _hosts(subject, known, ranked[:_SLOWEST], some),
        Folded(
            f"The links of {every} hosts",
            [_hosts(subject, known, shown, "What hosts' links carry, slowest first")],
        ),
    ]


def _hosts(subject: Subject, known: Capacity, hosts: Sequence[int], caption: str) -> Bars:
    most = max(float(np.nanmax(known.send_gbit_s)), float(np.nanmax(known.receive_gbit_s)))
    slow = {(each.host, each.kind) for each in subject.outliers}
    sides = (("send", known.send_gbit_s), ("receive", known.receive_gbit_s))
    rows = []
    for host in hosts:
        name = subject.names[host]
        bars = [_bar(float(rate[host]), most, is_low=(name, kind) in slow) for kind, rate in sides]
        rows.append((name, bars))
    return Bars(caption, ("host", "sends", "receives"), rows)


def _bar(gbit_s: float, most: float, *, is_low: bool) -> Bar | None:
    if not np.isfinite(gbit_s):
        return None
    text = bandwidth_text(gbit_s) + (" (slow)" if is_low else "")
    return Bar(text, gbit_s / (most or 1.0), BETWEEN if is_low else WITHIN)


def uplink_bars(uplinks: Sequence[Uplink]) -> Bars | None:
    """Return the bars of each group's uplink rates, beside what its hosts could reach."""
    rates = [
        rate
        for uplink in uplinks
        for rate in (uplink.send_gbit_s, uplink.receive_gbit_s, uplink.hosts_gbit_s)
        if rate is not None
    ]
    if not rates:
        return None
    most = max(rates)
    rows = [
        (
            uplink.group,
            [
                _uplink_bar(uplink.send_gbit_s, most, is_least=uplink.send_is_lower_bound),
                _uplink_bar(uplink.receive_gbit_s, most, is_least=uplink.receive_is_lower_bound),
                _hosts_bar(uplink, most),
            ],
        )
        for uplink in uplinks
    ]
    caption = "What all hosts of a group together exchange with other groups"
    return Bars(caption, ("group", "sends", "receives", "its hosts could"), rows)


def _uplink_bar(gbit_s: float | None, most: float, *, is_least: bool) -> Bar | None:
    if gbit_s is None:
        return None
    text = f"{'≥ ' if is_least else ''}{bandwidth_text(gbit_s)}"
    return Bar(text, gbit_s / (most or 1.0), WITHIN)


def _hosts_bar(uplink: Uplink, most: float) -> Bar | None:
    if uplink.hosts_gbit_s is None:
        return None
    ratio = oversubscription(uplink)
    times = "" if ratio is None else f" ({ratio:.1f}:1)"
    share = uplink.hosts_gbit_s / (most or 1.0)
    return Bar(f"{bandwidth_text(uplink.hosts_gbit_s)}{times}", share, NO_GROUP_COLOUR)
