"""New readings of some pairs beside the old ones of the others, so that both compare. Pure."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np

from plink.base.replacing import replace
from plink.formats.cluster import Cluster
from plink.formats.matrices import Matrix
from plink.formats.measurements import BandwidthMeasurement, Halves, RttMeasurement
from plink.measure.drift.judge import (
    Mask,
    Pair,
    average_both_ways_us,
    choose_pairs,
    fit_common_factor,
)

# Pairs of other hosts that are measured again, too, to tell what all readings have in common.
MOST_CONTROLS = 32
_PARTNERS = 2
# With fewer, their median says little.
_LEAST_CONTROLS = 3
# A common factor as small as that is left in.
_ALIKE = 0.02


def pairs_of(hosts: Collection[int], size: int) -> Mask:
    """Return (N, N) whether a pair is one of these hosts with any other."""
    concerned = np.zeros(size, dtype=np.bool_)
    concerned[list(hosts)] = True
    pairs: Mask = concerned[:, None] | concerned[None, :]
    np.fill_diagonal(pairs, val=False)
    return pairs


def transfers_of(hosts: Collection[int], size: int) -> Mask:
    """Return (N, N) the pairs between which transfers show what these hosts' links carry.

    Those among them, for a flow may be slow whose hosts are not, and of each one with another host.
    Transfers take a second each, and training is paused meanwhile.
    """
    pairs = np.zeros((size, size), dtype=np.bool_)
    others = [host for host in range(size) if host not in hosts]
    for number, host in enumerate(sorted(hosts)):
        partners = {others[number % len(others)]} if others else set()
        for partner in {*hosts, *partners} - {host}:
            pairs[host, partner] = pairs[partner, host] = True
    return pairs


def controls(rtt: RttMeasurement, hosts: Collection[int]) -> list[Pair]:
    """Return pairs of other hosts that are measured again, too."""
    others = rtt.readings_us.copy()
    others[list(hosts), :] = others[:, list(hosts)] = np.nan
    pairs = choose_pairs(average_both_ways_us(others), _PARTNERS, seed=0)
    return pairs[:: 1 + len(pairs) // MOST_CONTROLS]


def with_pairs(mask: Mask, pairs: Sequence[Pair]) -> Mask:
    """Return the mask with both directions of some pairs more."""
    wider = mask.copy()
    for a, b in pairs:
        wider[a, b] = wider[b, a] = True
    return wider


def without_rtt(rtt: RttMeasurement, pairs: Mask) -> RttMeasurement:
    """Remove the readings of these pairs, and all doubts about the others."""
    times_us = {key: np.where(pairs, np.nan, values) for key, values in rtt.rtt_us.items()}
    return replace(rtt, rtt_us=times_us, disturbance=None, passes=None, halves_us=None)


def without_bandwidth(bandwidth: BandwidthMeasurement, pairs: Mask) -> BandwidthMeasurement:
    """Remove the readings of these pairs."""
    return replace(bandwidth, gbit_s=np.where(pairs, np.nan, bandwidth.gbit_s))


def merge_rtt(
    before: RttMeasurement, after: RttMeasurement, pairs: Mask, known: Sequence[Pair]
) -> tuple[RttMeasurement, Matrix]:
    """Return the new readings of these pairs, as they compare with the old ones of the others.

    Readings are longer where hosts are busier. By how much all are, the controls tell; new readings
    are divided by that.

    Args:
        before: what there was.
        after: of the same hosts, measured again; NaN where that failed.
        pairs: (N, N) that were to be measured again.
        known: the controls (`controls`).

    Returns:
        what there is now (where measuring failed, what there was), and (N, N) the new readings in
        µs, NaN elsewhere.
    """
    is_new = (pairs | np.isnan(before.readings_us)) & ~np.isnan(after.readings_us)
    measured_us = np.where(is_new, after.readings_us, np.nan)
    factor = None
    if len(known) >= _LEAST_CONTROLS:
        factor = fit_common_factor(before.readings_us, measured_us, known)
    if factor is not None and abs(factor - 1.0) > _ALIKE:
        after = _divide(after, factor)
    merged = after.overlay(before, ~is_new)
    is_measured = pairs & ~np.isnan(after.readings_us)
    return merged, np.where(is_measured, merged.readings_us, np.nan)


def _divide(rtt: RttMeasurement, factor: float) -> RttMeasurement:
    halves_us = rtt.halves_us and Halves(*(half_us / factor for half_us in rtt.halves_us))
    times_us = {key: values_us / factor for key, values_us in rtt.rtt_us.items()}
    return replace(rtt, rtt_us=times_us, halves_us=halves_us)


def least_rtt(
    before: RttMeasurement, first: RttMeasurement, second: RttMeasurement
) -> RttMeasurement:
    """Return the lesser readings of two measurements of the same pairs: other work only adds.

    Args:
        before: what there was, whose counts of samples and losses both continue.
    """
    is_first = (first.readings_us < second.readings_us) | np.isnan(second.readings_us)
    least = second.overlay(first, is_first)
    passes, halves_us = None, None
    if first.passes is not None and second.passes is not None:
        passes = first.passes + second.passes
    if first.halves_us is not None and second.halves_us is not None:
        both = zip(first.halves_us, second.halves_us, strict=True)
        halves_us = Halves(*(np.fmin(one, other) for one, other in both))
    return replace(
        least,
        samples=first.samples + second.samples - before.samples,
        losses=first.losses + second.losses - before.losses,
        passes=passes,
        halves_us=halves_us,
    )


def merged_bandwidth(
    before: BandwidthMeasurement, after: BandwidthMeasurement, hosts: Collection[int], pairs: Mask
) -> BandwidthMeasurement:
    """Return the new readings; where measuring failed, the old ones.

    What a host's link carries is the most that any transfer did: of a host with all new readings
    that were wanted in a direction, the old ones are dropped. One alone may be slow for its peer.

    Args:
        before: what there was.
        after: of the same hosts, measured again; NaN where that failed.
        hosts: those concerned.
        pairs: (N, N) that were to be measured again.
    """
    is_new = pairs & ~np.isnan(after.gbit_s)
    concerned = np.zeros(len(pairs), dtype=np.bool_)
    concerned[list(hosts)] = True
    is_done = is_new | ~pairs
    sends, receives = (concerned & is_done.all(axis=axis) for axis in (1, 0))
    is_stale = ~is_new & (sends[:, None] | receives[None, :])

    def chosen(old: Matrix, new: Matrix) -> Matrix:
        found: Matrix = np.where(is_stale, np.nan, np.where(np.isnan(after.gbit_s), old, new))
        return found

    return replace(
        after,
        gbit_s=chosen(before.gbit_s, after.gbit_s),
        retransmits=chosen(before.retransmits, after.retransmits),
    )


def without_uplinks(cluster: Cluster, hosts: Collection[str]) -> Cluster:
    """Remove the uplinks of these hosts' groups."""
    if cluster.uplinks is None:
        return cluster
    concerned = {group.name for group in cluster.groups if not set(hosts).isdisjoint(group.hosts)}
    kept = [uplink for uplink in cluster.uplinks.uplinks if uplink.group not in concerned]
    return replace(cluster, uplinks=replace(cluster.uplinks, uplinks=kept))


def merged_uplinks(before: Cluster, after: Cluster) -> Cluster:
    """The new figures of uplinks, and the old ones of groups whose uplink was not all measured."""
    if before.uplinks is None or after.uplinks is None:
        return after
    hosts_of = {group.name: set(group.hosts) for group in before.groups}
    same = {group.name for group in after.groups if hosts_of.get(group.name) == set(group.hosts)}
    known = {each.group: each for each in before.uplinks.uplinks if each.group in same}
    known |= {each.group: each for each in after.uplinks.uplinks if each.is_whole}
    uplinks = [known[group.name] for group in after.groups if group.name in known]
    return replace(after, uplinks=replace(after.uplinks, uplinks=uplinks))
