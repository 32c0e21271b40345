"""Check of a cluster file's link and uplink rates with a few transfers."""

from __future__ import annotations

import time
from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np

from plink.base.progress import ProgressListener
from plink.base.text import format_count, format_names
from plink.files.cluster import Cluster
from plink.files.measurements import Failure
from plink.measure.drift.rates import LinkJudgement, RateChange
from plink.measure.probing.tools import UplinkOptions
from plink.measure.probing.transfers_again import TransfersAgain
from plink.probes.options import Iperf3Options
from plink.probes.reach import Reached

# The share of the time for hosts' links where uplinks are to be checked, too: these take longer.
_LINKS_SHARE = 1.0 / 3.0
_MOST_NAMED = 3


@dataclass(frozen=True)
class RatesResult:
    """Result of measuring link and uplink rates again.

    Args:
        hosts: names of those whose links were compared.
        groups: names of those whose uplinks were compared.
        changes: links and uplinks that carry another amount than in the file.
        common_factor: new over old rate of hosts' links that did not change.
        is_changed: the file no longer describes the rates.
        not_checked: what the file holds and was not measured again, a clause each.
        failures: what could not be measured, and why.
        seconds: how long the transfers took.
    """

    hosts: Sequence[str] = ()
    groups: Sequence[str] = ()
    changes: Sequence[RateChange] = ()
    common_factor: float = 1.0
    is_changed: bool = False
    not_checked: Sequence[str] = ()
    failures: Sequence[Failure] = ()
    seconds: float = 0.0


def holds_rates(cluster: Cluster) -> bool:
    """Return whether a cluster file has rates that transfers can check."""
    return _has_links(cluster) or _has_uplinks(cluster)


def check_rates(
    cluster: Cluster,
    reached: Reached,
    *,
    limit_s: float,
    silence_s: float,
    seed: int,
    progress: ProgressListener,
) -> RatesResult:
    """Measure some links and uplinks again, those that seem changed twice, and judge.

    Args:
        cluster: with what is compared (`holds_rates`).
        reached: its hosts.
        limit_s: seconds that transfers may take, and as many again those of what seems changed;
            0 for none.
        silence_s: a transfer is given up after so many seconds without data.
        seed: decides among hosts that are alike.
        progress: told how far it is.

    Raises:
        WrongUseError: options in the file that cannot be.
    """
    if limit_s <= 0.0:
        return RatesResult(not_checked=_not_checked(cluster, (), ()))
    again = TransfersAgain(
        cluster, reached.hosts, silence_s=silence_s, seed=seed, progress=progress
    )
    began = time.monotonic()
    links: LinkJudgement | None = None
    share = _LINKS_SHARE if _has_links(cluster) and _has_uplinks(cluster) else 1.0
    if _has_links(cluster):
        has_pairs = cluster.bandwidth is not None and _has_bandwidth(cluster)
        gbit_s = cluster.bandwidth.gbit_s if cluster.bandwidth and has_pairs else None
        links = again.links(gbit_s, share * limit_s)
    changes = [] if links is None else list(links.changes)
    groups: list[str] = []
    if cluster.uplinks is not None and _has_uplinks(cluster):
        rest = 1.0 - share if links is not None else 1.0
        now, changed = again.uplinks(cluster.uplinks, changes, rest * limit_s)
        groups = list(dict.fromkeys(group for group, _ in now))
        changes += changed
    hosts = [] if links is None else _compared_hosts(cluster.names, links)
    return RatesResult(
        hosts=hosts,
        groups=groups,
        changes=changes,
        common_factor=1.0 if links is None else links.common_factor,
        is_changed=bool(changes) or (links is not None and links.is_changed),
        not_checked=_not_checked(cluster, hosts, groups),
        failures=list(dict.fromkeys(again.failures)),
        seconds=time.monotonic() - began,
    )


def _has_links(cluster: Cluster) -> bool:
    return _has_bandwidth(cluster) or (_has_uplinks(cluster) and _knows_links(cluster))


def _has_bandwidth(cluster: Cluster) -> bool:
    return cluster.bandwidth is not None and cluster.bandwidth.tool == Iperf3Options.tool


def _has_uplinks(cluster: Cluster) -> bool:
    return (
        cluster.uplinks is not None
        and cluster.uplinks.tool == UplinkOptions.tool
        and len(cluster.groups) > 1
    )


def _knows_links(cluster: Cluster) -> bool:
    return cluster.uplinks is not None and bool(cluster.uplinks.links)


def _compared_hosts(names: Sequence[str], links: LinkJudgement) -> list[str]:
    seen = {int(host) for pair in np.argwhere(links.compared) for host in pair}
    return [name for place, name in enumerate(names) if place in seen]


def _not_checked(cluster: Cluster, hosts: Collection[str], groups: Collection[str]) -> list[str]:
    """Return the measurements in the file that the check of rates does not cover."""
    found = []
    if _has_links(cluster):
        others = [name for name in cluster.names if name not in set(hosts)]
        if others:
            found.append(f"the links of {format_names(others, _MOST_NAMED)}")
    elif _has_uplinks(cluster):
        found.append("hosts' links, of which the file has only sums")
    if _has_bandwidth(cluster):
        found.append("the bandwidth of most pairs: of each host one or two were measured again")
    if cluster.uplinks is not None and _has_uplinks(cluster):
        known = [each.group for each in cluster.uplinks.uplinks if each.group not in set(groups)]
        if known:
            found.append(f"the uplinks of {format_names(known, _MOST_NAMED)}")
    return found


def summary(found: RatesResult) -> str:
    """Return, in words, how many of the compared links and uplinks changed."""
    parts = []
    for names, what, of, is_uplink in (
        (found.hosts, "links", "host", False),
        (found.groups, "uplinks", "group", True),
    ):
        changed = {each.name for each in found.changes if each.is_uplink == is_uplink}
        if names:
            parts.append(f"{what} of {len(changed):,} of {format_count(len(names), of)}")
    return f"{' and '.join(parts)} changed"
