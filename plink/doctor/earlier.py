"""Findings by comparison with an earlier file: longer round trips, slower links and jobs."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone

import numpy as np

from plink.autotune.log.history import History
from plink.base.size import format_size
from plink.base.text import bandwidth_text, format_count, format_names, rtt_text
from plink.doctor.certainty import Floats, Mask, probability, spread
from plink.doctor.evidence import Evidence, list_links, round_trips
from plink.doctor.finding import Finding, FindingKind
from plink.formats.comparison import ComparisonRow
from plink.formats.groups import HostLink, Uplink
from plink.formats.matrices import Matrix, move_hosts

# Beyond what is common to all: of the log of a round trip, and of a rate.
_LONGER = 0.25
_LESS = -math.log(0.75)
_RTT_SPREAD, _RATE_SPREAD = 0.06, 0.07
_LEAST_RATES = 3
_ADVICE = ("ask what was changed since the earlier file was measured: cabling, routes, instances",)

# A job is slower by at least this factor; what its times differ by, of their logs.
_SLOWER = 1.15
_BENCH_SPREAD, _TUNED_SPREAD = 0.04, 0.03
_MOST_NAMED = 3
# Windows on either side of the change.
_LEAST_WINDOWS = 3
# A host whose masters were taken away sends this much less, beside the others.
_LESS_SENT = 0.75
# More samples make nothing surer: they are not independent.
_MOST_SAMPLES = 9

# Of the known pairs of a cause so many deviate.
_LEAST_SHARE = 0.7
# A cause of several pairs is believed for so many at least.
_LEAST_PAIRS = 2
_MOST_CAUSES = 12


def find_changes(evidence: Evidence) -> list[Finding]:
    """Return a finding for each host, group or pair that is slower than in the earlier file."""
    before = evidence.before
    if before is None:
        return []
    then = {link.host: link for link in list_links(before)}
    links = [(link.host, then[link.host], link) for link in evidence.links if link.host in then]
    found = _find_longer(evidence)
    for host, verb, rates, sure in _find_lower_rates(links):
        says = f"{host} {verb}s {rates}"
        found.append(Finding(FindingKind.SLOW_ONE_WAY, [host], says, sure[0], sure[1], _ADVICE))
    if evidence.cluster.uplinks is None or before.uplinks is None:
        return found
    # Groups are called by number, which another run may deal otherwise.
    name_of = {frozenset(each.hosts): each.name for each in before.groups}
    same = {each.name: name_of.get(frozenset(each.hosts)) for each in evidence.cluster.groups}
    known = {each.group: each for each in before.uplinks.uplinks}
    uplinks = [
        (each.group, known[old], each)
        for each in evidence.cluster.uplinks.uplinks
        if (old := same.get(each.group)) in known
    ]
    for group, verb, rates, sure in _find_lower_rates(uplinks, least=1):
        says = f"the hosts of {group} together {verb} {rates}"
        advice = [*_ADVICE, "look at the members of the switch's uplink bundle (LACP)"]
        hosts = evidence.list_hosts(group)
        kind = FindingKind.SLOW_UPLINK
        found.append(Finding(kind, hosts, says, sure[0], sure[1], advice, group))
    return found


def _find_longer(evidence: Evidence) -> list[Finding]:
    before = evidence.before
    if evidence.cluster.rtt is None or before is None or before.rtt is None:
        return []
    places = {name: index for index, name in enumerate(before.names)}
    old = move_hosts(round_trips(before), [places.get(name) for name in evidence.names], np.nan)
    with np.errstate(divide="ignore", invalid="ignore"):
        logs: Matrix = np.log(round_trips(evidence.cluster) / old)
    known = np.triu(np.isfinite(logs), 1)
    if not known.any():
        return []
    common = float(np.median(logs[known]))
    noise = spread(logs[known], _RTT_SPREAD)
    longer = known & (logs - common > max(_LONGER, 3.0 * noise))
    return [
        _build_farther(cause, logs - common, noise, int(known.sum()))
        for cause in _find_causes(evidence, longer, known)
    ]


def _build_farther(cause: _Cause, beyond: Matrix, noise: float, looked_at: int) -> Finding:
    factor = float(np.exp(np.median(beyond[cause.pairs])))
    if cause.group is not None:
        where = f"between {cause.group} and other groups"
    elif len(cause.hosts) == 1:
        where = f"of {cause.hosts[0]}"
    else:
        where = f"between {format_names(cause.hosts)}"
    return Finding(
        FindingKind.FARTHER,
        list(cause.hosts),
        f"round trips {where} take {factor:.2f} times as long as in the earlier file "
        f"({cause.explained} of {format_count(cause.known, 'pair')})",
        _judge_factor(factor, noise, cause.explained, looked_at),
        factor,
        [*_ADVICE, "compare routes now and then: plink probe with the tool trace"],
        cause.group,
    )


@dataclass(frozen=True)
class _Cause:
    """Host, group or pair of hosts that explains why some pairs' round trips have grown.

    Args:
        hosts: names.
        group: whose way to other groups it is; None for a host or a pair.
        pairs: (N, N) those that it explains, in the upper triangle.
        known: how many of its pairs are known.
    """

    hosts: Sequence[str]
    group: str | None
    pairs: Mask
    known: int

    @property
    def explained(self) -> int:
        """Number of deviating pairs that the cause explains."""
        return int(self.pairs.sum())


def _find_causes(evidence: Evidence, deviates: Mask, known: Mask) -> list[_Cause]:
    """Return the hosts and groups that best explain deviating pairs, then single pairs.

    The fewest causes are taken, the one first that explains most beyond what it explains wrongly. A
    cause is no explanation where most of its pairs do not deviate.

    Args:
        evidence: names and groups of the hosts.
        deviates, known: (N, N), of which the upper triangle counts.
    """
    left, known = np.triu(deviates & known, 1), np.triu(known, 1)
    found: list[_Cause] = []
    while len(found) < _MOST_CAUSES and left.any():
        best: _Cause | None = None
        score = 0
        for hosts, group, pairs in _candidates(evidence):
            mine, total = int((left & pairs).sum()), int((known & pairs).sum())
            wrong = int((known & pairs & ~deviates).sum())
            if mine < _LEAST_PAIRS or total - wrong < _LEAST_SHARE * total or mine - wrong <= score:
                continue
            best, score = _Cause(hosts, group, left & pairs, total), mine - wrong
        if best is None:
            break
        found.append(best)
        left = left & ~best.pairs
    for one, other in np.argwhere(left)[: _MOST_CAUSES - len(found)]:
        pair = np.zeros_like(left)
        pair[one, other] = True
        names = [evidence.names[int(one)], evidence.names[int(other)]]
        found.append(_Cause(names, None, pair, 1))
    return found


def _candidates(evidence: Evidence) -> Iterator[tuple[list[str], str | None, Mask]]:
    size = len(evidence.names)
    for number, group in enumerate(evidence.cluster.groups):
        is_in = evidence.group_by_host == number
        if 1 < is_in.sum() < size:
            yield list(group.hosts), group.name, is_in[:, None] != is_in[None, :]
    for host, name in enumerate(evidence.names):
        pairs = np.zeros((size, size), dtype=np.bool_)
        pairs[host, :] = pairs[:, host] = True
        yield [name], None, pairs


def _judge_factor(factor: float, noise: float, samples: int, looked_at: int) -> float:
    """Return the probability that a growth of times by `factor` is not noise."""
    count = max(1, min(samples, _MOST_SAMPLES))
    return probability(math.log(factor) / noise * math.sqrt(count), looked_at)


def _find_lower_rates(
    pairs: Sequence[tuple[str, HostLink | Uplink, HostLink | Uplink]], least: int = _LEAST_RATES
) -> list[tuple[str, str, str, tuple[float, float]]]:
    """Return the links' rates that fell by more than a quarter beyond the common change.

    Args:
        pairs: name, link before and link now.
        least: of fewer rates nothing is said.

    Returns:
        Name, direction, rates in words, and probability and factor of each.
    """
    found = []
    for verb in ("send", "receive"):
        rates = {
            name: (getattr(old, f"{verb}_gbit_s"), getattr(new, f"{verb}_gbit_s"))
            for name, old, new in pairs
        }
        known = {name: (old, new) for name, (old, new) in rates.items() if old and new}
        if len(known) < least:
            continue
        logs: Floats = np.array([math.log(old / new) for old, new in known.values()])
        # All slower by as much is another finding: who is alone is compared with no change.
        common = float(np.median(logs)) if len(known) >= _LEAST_RATES else 0.0
        noise = spread(logs, _RATE_SPREAD)
        for (name, (old, new)), log in zip(known.items(), logs, strict=True):
            if log - common > _LESS:
                says = f"{bandwidth_text(new)}, in the earlier file {bandwidth_text(old)}"
                sure = probability(float(log - common) / noise, len(known))
                found.append((name, verb, says, (sure, old / new)))
    return found


def find_slower_bench(evidence: Evidence) -> list[Finding]:
    """Return a finding on the benchmark that slowed down most since an earlier comparison."""
    now, then = evidence.comparison, evidence.comparison_before
    if now is None or then is None:
        return []
    before = {_key(row): row for row in then.rows}
    shared = [(row, before[_key(row)]) for row in now.rows if _key(row) in before]
    slower = []
    for new, old in shared:
        factor = new.median_s / old.median_s
        if factor <= _SLOWER:
            continue
        samples = [np.log(np.array(row.samples_s or [1.0])) for row in (new, old)]
        noise = max(spread(each, _BENCH_SPREAD) for each in samples)
        count = min(len(new.samples_s), len(old.samples_s))
        sure = _judge_factor(factor, noise, count, len(shared))
        if sure > 0.0:
            slower.append((factor, sure, new, old))
    if not slower:
        return []
    slower.sort(key=lambda each: -each[0])
    worst = max(slower, key=lambda each: each[1] * (each[0] - 1.0))
    factor, sure, new, old = worst
    return [
        Finding(
            FindingKind.SLOWER_JOB,
            [],
            f"{_describe_row(new)} takes {rtt_text(1e6 * new.median_s)}, {factor:.2f} times as "
            f"long as in the earlier comparison ({rtt_text(1e6 * old.median_s)})",
            sure,
            factor,
            ["measure the network now, and look at that: plink probe, then plink doctor"],
            evidence=[
                f"{_describe_row(row)}: {times:.2f} times as long"
                for times, _, row, _ in [each for each in slower if each is not worst][:_MOST_NAMED]
            ],
        )
    ]


def _key(row: ComparisonRow) -> tuple[object, ...]:
    return (row.client, row.algorithm, row.plan, row.order, row.collective, row.size_bytes)


def _describe_row(row: ComparisonRow) -> str:
    order = f" in the order {row.order}" if row.order else ""
    return (
        f"{row.collective} of {format_size(row.size_bytes)} by {row.client} {row.algorithm}{order}"
    )


def find_slower_iterations(evidence: Evidence) -> list[Finding]:
    """Return a finding if a tuned job's iterations are slower from some window on."""
    run = evidence.tuned
    if run is None or run.windows < 2 * _LEAST_WINDOWS:
        return []
    logs: Floats = np.log(run.iteration_s)
    # The window at which the times best split into two levels.
    split = min(
        range(_LEAST_WINDOWS, len(logs) - _LEAST_WINDOWS + 1),
        key=lambda place: sum(
            np.abs(part - np.median(part)).sum() for part in np.split(logs, [place])
        ),
    )
    before, after = np.split(logs, [split])
    factor = math.exp(float(np.median(after) - np.median(before)))
    if factor < _SLOWER:
        return []
    noise = max(spread(part, _TUNED_SPREAD) for part in (before, after))
    hosts = _find_lower_shares(run, split)
    when = datetime.fromtimestamp(float(run.at_s[split]), timezone.utc)
    says = (
        f"iterations take {rtt_text(1e6 * math.exp(float(np.median(after))))} since "
        f"{when:%Y-%m-%d %H:%M} UTC, {factor:.2f} times as long as before"
    )
    if hosts:
        says += f"; the tuner has let {format_names(hosts)} send less since then"
    reasons = [
        f"the tuner, after window {change.window + 1}: {change.reason}"
        for change in run.changes
        if change.window >= split - 1 and change.reason
    ]
    return [
        Finding(
            FindingKind.SLOWER_JOB,
            hosts,
            says,
            _judge_factor(factor, noise, min(len(before), len(after)), run.windows),
            factor,
            ["measure now, and look at that: plink probe, then plink doctor of the cluster file"],
            evidence=reasons[:_MOST_NAMED],
        )
    ]


def _find_lower_shares(run: History, split: int) -> list[str]:
    """Return the hosts that send a smaller share of all bytes from window `split` on."""
    parts = run.sent_bytes / np.maximum(run.sent_bytes.sum(axis=1, keepdims=True), 1.0)
    then, now = np.median(parts[:split], axis=0), np.median(parts[split:], axis=0)
    return [
        name
        for name, old, new in zip(run.hosts, then, now, strict=True)
        if old > 0.0 and new < _LESS_SENT * old
    ]
