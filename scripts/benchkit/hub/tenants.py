"""Services that share a server's port: how evenly, by weight, with many connections."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence

from benchkit.hub.crowd import Crowd
from benchkit.hub.placements import keys_of
from benchkit.hub.setting import RATE_MBIT, Rack, Setting, setting
from benchkit.report import Report

TENANTS = 8
_ITEMS = 500_000
_LEAD_S = 0.1


def run(seconds: float, report: Report) -> None:
    """Measure and print: each tenant has one worker on a host of its own, all share one port."""
    with setting([Rack(TENANTS, [[RATE_MBIT]])]) as there:
        rows = []
        names = [f"equal-{number}" for number in range(TENANTS)]
        equal = _shares(there, names, seconds, {})
        rows.append(("8 equal", _listed(equal)))
        report.at_least("8 equal tenants: Jain's index", 0.98, jain(equal))
        report.at_least("8 equal tenants: least over a fair share", 0.95, min(equal) * TENANTS)
        heavy = _shares(there, ["light", "heavy"], seconds, {"heavy": {"weight": 2.0}})
        rows.append(("weights 1 and 2", _listed(heavy)))
        off = abs(heavy[1] / heavy[0] / 2 - 1)
        report.at_most("weights 2:1: off by", 5, 100 * off, "%")
        many = _shares(there, ["few", "many"], seconds, {}, {"many": {"connections": 8}})
        rows.append(("1 and 8 connections", _listed(many)))
        report.at_most("eight times the connections gain", 5, 100 * (many[1] * 2 - 1), "%")
    report.table(("tenants", "shares of what was carried"), rows, "Tenants")


def jain(shares: Sequence[float]) -> float:
    """Jain's index of fairness: 1 where all are equal (Jain, Chiu and Hawe 1984)."""
    return sum(shares) ** 2 / (len(shares) * sum(share * share for share in shares))


def _shares(
    there: Setting,
    names: Sequence[str],
    seconds: float,
    services: Mapping[str, Mapping[str, object]],
    workers: Mapping[str, Mapping[str, object]] | None = None,
) -> list[float]:
    """What part of all iterations each tenant got, all working at the same time."""
    keys = keys_of(_ITEMS)
    crowds = [there.crowd.only(number) for number in range(len(names))]
    for name, crowd in zip(names, crowds, strict=True):
        own = dict((workers or {}).get(name, {}))
        there.open_hub(name, ["r0s0"], keys, crowd=crowd, worker=own, **services.get(name, {}))
    at_s = time.monotonic() + _LEAD_S
    told = zip(names, crowds, strict=True)
    for name, crowd in told:
        crowd.tell(do="repeat", name=name, at_s=at_s, until_s=at_s + seconds)
    times = [_times(crowd) for crowd in crowds]
    for name, crowd in zip(names, crowds, strict=True):
        there.close_hub(name, ["r0s0"], crowd=crowd)
    return [one / sum(times) for one in times]


def _times(crowd: Crowd) -> float:
    return float(crowd.answers()[0]["times"])


def _listed(shares: Sequence[float]) -> str:
    return ", ".join(f"{share:.3f}" for share in shares)
