"""Outlying hosts: much slower than the others, or much farther from them.

A host is slow where the best that it did with anyone is far below the best that others did, though
its partners did better with others: what racks share (an uplink) slows some pairs of many hosts,
and no host's best. A host is far where its round trips to most others take longer than those of any
other host to the same ones. What is known of too few pairs is no evidence, and where many hosts
differ, none stands out.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar, Literal

import numpy as np
import numpy.typing as npt

from plink.base.text import bandwidth_text, format_names, rtt_text
from plink.formats.cluster import Cluster
from plink.formats.limits import Amount, Text
from plink.formats.matrices import Matrix
from plink.formats.structs import Output
from plink.model.distance import combine_directions, median_of_known

Vector = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]
Kind = Literal["send", "receive", "round trip"]

# What stands out is this far from the median of the others, and so many of their deviations.
_SLOW = 0.7
_FAR = 1.3
_DEVIATIONS = 5.0
# The standard deviation of a normal distribution by its median absolute deviation.
_PER_MAD = 1.4826

# A host is compared where so many others are known; at most this share of all hosts stands out.
_LEAST_OTHERS = 2
_MOST_SHARE = 0.25
# With fewer of its pairs known, what is best for a host may just not have been measured: so many
# partners have to show that it is not.
_COVERED = 0.9
_LEAST_PARTNERS = 4
# So many partners of a host are looked at for its middle distance.
_SAMPLED = 512


class Outlier(Output, frozen=True):
    """Outlying host: in what respect it differs from the others, and by how much.

    Attributes:
        host: name of the host
        kind: what differs: what it sends or receives at best, or its round trips to most others
        value: value of the host, in `unit`
        usual: median of the other hosts, in `unit`; of round trips, the longest that others have to
            the same hosts (the median of these)
    """

    COMPUTED: ClassVar = ("unit",)

    host: Text
    kind: Kind
    value: Amount
    usual: Amount

    @property
    def unit(self) -> Literal["us", "gbit_s"]:
        """Unit of the outlier's value and of the usual value: `us` or `gbit_s`."""
        return "us" if self.kind == "round trip" else "gbit_s"

    @property
    def factor(self) -> float:
        """Factor by which the host is slower or farther than the others."""
        return self.value / self.usual if self.kind == "round trip" else self.usual / self.value


def outliers(cluster: Cluster) -> list[Outlier]:
    """Return outlying hosts, slow or far, once for each respect, the greatest factor first.

    A host that stands out in several respects occurs several times (`group_by_host`). `sentences`
    describes them in words, and `plink.optimize.leaving_out` computes what a job would gain
    without them.
    """
    found = []
    for kind, best, is_evident in _list_best_rates(cluster):
        found += _find_slow(cluster.names, kind, best, is_evident)
    found += _find_far(cluster)
    return sorted(found, key=lambda each: -each.factor)


def group_by_host(found: Sequence[Outlier]) -> dict[str, list[Outlier]]:
    """Group outliers by host; a host may be outlying in several respects."""
    hosts: dict[str, list[Outlier]] = {}
    for each in found:
        hosts.setdefault(each.host, []).append(each)
    return hosts


def sentences(found: Sequence[Outlier]) -> list[str]:
    """Return a sentence on each outlying host, saying in what respect and by how much."""
    return [
        f"{host} is {_describe_respects(respects)}"
        for host, respects in group_by_host(found).items()
    ]


def summary(found: Sequence[Outlier]) -> str:
    """Return one clause about all outlying hosts, such as `n03 is slow`; empty for none."""
    slow = [host for host, each in group_by_host(found).items() if each[0].kind != "round trip"]
    far = [host for host, each in group_by_host(found).items() if each[0].kind == "round trip"]
    parts = [
        f"{format_names(hosts)} {'is' if len(hosts) == 1 else 'are'} {how}"
        for hosts, how in ((slow, "slow"), (far, "far from all others"))
        if hosts
    ]
    return ", and ".join(parts)


def _describe_respects(respects: Sequence[Outlier]) -> str:
    rates = {each.kind: each for each in respects if each.kind != "round trip"}
    parts = []
    if rates:
        does = " and ".join(
            f"{kind}s {bandwidth_text(rates[kind].value)}"
            for kind in ("send", "receive")
            if kind in rates
        )
        usual = bandwidth_text(max(each.usual for each in rates.values()))
        parts.append(f"slow: it {does} at best, the other hosts {usual} (median)")
    for each in respects:
        if each.kind == "round trip":
            parts.append(
                f"far from all others: its round trips take {rtt_text(each.value)} (median), "
                f"those of other hosts to the same ones {rtt_text(each.usual)} at most"
            )
    return "; and ".join(parts)


def _list_best_rates(cluster: Cluster) -> list[tuple[Kind, Vector, Callable[[], Mask]]]:
    """Return hosts' best rates per direction, with a function that tells which are reliable."""
    if cluster.bandwidth is not None:
        gbit_s = np.where(cluster.bandwidth.gbit_s > 0.0, cluster.bandwidth.gbit_s, np.nan)
        np.fill_diagonal(gbit_s, np.nan)
        return [
            ("send", _max_by_host(gbit_s), lambda: _has_evidence(gbit_s, _same_group(cluster))),
            (
                "receive",
                _max_by_host(gbit_s.T),
                lambda: _has_evidence(gbit_s.T, _same_group(cluster)),
            ),
        ]
    if cluster.uplinks is None:
        return []
    send, receive = cluster.uplinks.link_rates(cluster.names)
    # Slow links were measured again there, with partners that had done well.
    known = np.ones(len(send), dtype=np.bool_)
    return [("send", send, lambda: known), ("receive", receive, lambda: known)]


def _max_by_host(gbit_s: Matrix) -> Vector:
    best: Vector = np.fmax.reduce(gbit_s, axis=1)
    return best


def _same_group(cluster: Cluster) -> Mask:
    """Return a mask of the pairs of hosts in one group, shape (N, N); all false without groups."""
    group_of = {name: number for number, each in enumerate(cluster.groups) for name in each.hosts}
    groups = np.array([group_of.get(name, -1 - i) for i, name in enumerate(cluster.names)])
    same: Mask = groups[:, None] == groups[None, :]
    return same


def _has_evidence(gbit_s: Matrix, is_mate: Mask) -> Mask:
    """Return a mask (N,) of hosts with partners that were faster with others: the host is slow."""
    is_known = ~np.isnan(gbit_s)
    best = _max_by_host(gbit_s)
    # What partners did with others on the same side of their uplinks.
    inside, outside = (
        _max_by_host(np.where(side, gbit_s, np.nan).T) for side in (is_mate, ~is_mate)
    )
    did = np.where(is_mate, inside[None, :], outside[None, :])
    did_better = is_known & (_SLOW * did > gbit_s)
    partners = did_better.sum(axis=1)
    is_covered: Mask = (is_known.sum(axis=1) >= _COVERED * (len(gbit_s) - 1)) | (
        (is_known & is_mate).sum(axis=1) >= _LEAST_OTHERS
    )
    usual = median_of_known(best)
    # A host that is slow in one direction only has several partners that show the other is not.
    one_way = (gbit_s < _SLOW * usual) & (_SLOW * usual <= gbit_s.T)
    is_slow_back = ~(_max_by_host(gbit_s.T) >= _SLOW * usual)
    is_shown = is_slow_back | (one_way.sum(axis=1) >= _LEAST_OTHERS)
    has_several = (partners >= _LEAST_OTHERS) | (is_slow_back & (partners > 0))
    evident: Mask = has_several & is_covered & is_shown
    for host in np.flatnonzero((partners >= _LEAST_OTHERS) & ~is_covered & (best < _SLOW * usual)):
        evident[host] = _is_least_everywhere(gbit_s, int(host))
    return evident


def _is_least_everywhere(gbit_s: Matrix, host: int) -> bool:
    """Return whether every partner of a host was slower with it than with others."""
    partners = np.flatnonzero(~np.isnan(gbit_s[host]))
    others = np.delete(gbit_s[:, partners], host, axis=0)
    is_compared = (~np.isnan(others)).sum(axis=0) > _LEAST_OTHERS
    least = np.where(np.isnan(others), np.inf, others).min(axis=0)
    is_less = gbit_s[host, partners] < _SLOW * least
    return int(is_compared.sum()) >= _LEAST_PARTNERS and bool(is_less[is_compared].all())


def _find_slow(
    names: Sequence[str], kind: Kind, best: Vector, evidence: Callable[[], Mask]
) -> list[Outlier]:
    known = np.flatnonzero(~np.isnan(best))
    if len(known) <= _LEAST_OTHERS:
        return []
    logs, usual = np.log(best[known]), median_of_known(best)
    below = np.log(usual) - logs
    # The slow ones are few, so that they hardly move a median of all.
    limit = max(-np.log(_SLOW), _DEVIATIONS * _PER_MAD * median_of_known(np.abs(below)))
    hosts = known[below > limit]
    if not len(hosts) or len(hosts) > max(1, int(_MOST_SHARE * len(known))):
        return []
    is_evident, of_others = evidence(), median_of_known(np.delete(best, hosts))
    return [
        Outlier(names[host], kind, float(best[host]), of_others)
        for host in hosts.tolist()
        if is_evident[host]
    ]


def _find_far(cluster: Cluster) -> list[Outlier]:
    if cluster.rtt is None:
        return []
    times = combine_directions(cluster.rtt.readings_us, np.fmax)
    times[~(times > 0.0)] = np.nan
    np.fill_diagonal(times, np.nan)
    found = []
    candidates = _find_far_candidates(times)
    is_candidate = np.isin(np.arange(len(times)), candidates)
    for host in candidates:
        partners = np.flatnonzero(~np.isnan(times[host]))
        # Others that stand out are no measure, unless they may be this one's neighbours.
        is_measure = ~is_candidate | np.isnan(times[host])
        is_measure[host] = False
        others = times[np.ix_(is_measure, partners)]
        is_compared = (~np.isnan(others)).sum(axis=0) >= _LEAST_OTHERS
        is_covered = len(partners) >= _COVERED * (len(times) - 1)
        if is_compared.sum() < (_LEAST_OTHERS if is_covered else _LEAST_PARTNERS):
            continue
        longest = np.where(np.isnan(others), -np.inf, others).max(axis=0)[is_compared]
        own = times[host, partners][is_compared]
        if median_of_known(own / longest) > _FAR:
            found.append(
                Outlier(
                    cluster.names[host],
                    "round trip",
                    median_of_known(own),
                    median_of_known(longest),
                )
            )
    return found if len(found) <= max(1, int(_MOST_SHARE * len(times))) else []


def _find_far_candidates(times: Matrix) -> list[int]:
    """Return indices of hosts unusually far from both their nearest and their median partner."""
    nearest: Vector = np.fmin.reduce(times, axis=1)
    # Some of thousands of hosts tell where the middle is.
    seen = np.linspace(0, len(times) - 1, min(len(times), _SAMPLED)).astype(int)
    ordered = np.sort(times[:, seen], axis=1)
    known = (~np.isnan(ordered)).sum(axis=1)
    at = ordered[np.arange(len(times)), np.maximum(known - 1, 0) // 2]
    middle = np.where(known > 0, at, np.nan)
    is_far = (middle > _FAR * median_of_known(middle)) & (nearest > _FAR * median_of_known(nearest))
    return [int(host) for host in np.flatnonzero(is_far)]
