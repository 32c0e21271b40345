"""Findings about hosts whose round trips to all others exceed those of their group's hosts.

A host is compared with the others of its rack: what its round trips to everybody take beyond theirs
to the same hosts. A rack that lies farther away is no fault, and neither is a host that is alone in
its rack: it has no neighbour who is nearer.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from plink.base.text import rtt_text
from plink.doctor.certainty import Floats, probability, spread
from plink.doctor.evidence import Evidence, Indices, symmetric
from plink.doctor.finding import Finding, FindingKind
from plink.formats.matrices import Matrix, median_rows

# A host is farther by at least this share of its neighbours' round trips.
_LEAST_SHARE = 0.15
# Of all that a host is compared with so many agree: they show from half to twice the median.
_AGREE = 0.8
_LOW, _HIGH = 0.5, 2.0
# What its neighbours show differs by no more from what the others show: in shares of that, and of a
# round trip. Of a host in a rack of its own it does: what is no neighbour is farther from it.
_DIFFER, _NOISE = 0.25, 0.05
_LEAST_COMPARED = 3
# A host is tried beside so many groups; in its own, so many others are many.
_CANDIDATES, _MANY = 3, 64
# In shares of a round trip: what one differs from another on the same way at least.
_LEAST_SPREAD = 0.03
_ADVICE = (
    "look for what slows it alone: a switch, tunnel or bridge on its way, power saving",
    "compare routes: plink probe with the tool trace",
)


def find(evidence: Evidence) -> list[Finding]:
    """Return a finding for each host with longer round trips to all than its group's hosts."""
    if evidence.cluster.rtt is None:
        return []
    times = symmetric(evidence.cluster.rtt.readings_us)
    usual_of = {
        int(group): _compute_usual_us(times, evidence.members(int(group)))
        for group in np.unique(evidence.group_by_host)
        if len(evidence.members(int(group))) > 1
    }
    excesses = {host: _find_excess(evidence, times, usual_of, host) for host in range(len(times))}
    shares = np.array([0.0 if each is None else each[0] for each in excesses.values()])
    noise = spread(shares, _LEAST_SPREAD)
    found = []
    for host, each in excesses.items():
        if each is None or each[0] < _LEAST_SHARE:
            continue
        share, extra_us, usual_us, compared = each
        name = evidence.names[host]
        says = (
            f"round trips of {name} take {rtt_text(extra_us)} more than those of its neighbours to "
            f"the same {compared} hosts ({rtt_text(usual_us)}, median)"
        )
        sure = probability(share / noise, len(times))
        found.append(Finding(FindingKind.FAR_HOST, [name], says, sure, 1.0 + share, _ADVICE))
    return found


def _find_excess(
    evidence: Evidence, times: Matrix, usual_of: Mapping[int, Floats], host: int
) -> tuple[float, float, float, int] | None:
    """Return a host's excess of round trips over its group's: share, µs, usual µs, host count."""
    own = int(evidence.group_by_host[host])
    best: tuple[float, tuple[float, float, float, int] | None] | None = None
    for group in {own, *_find_nearest_groups(times[host], usual_of)}:
        mates = evidence.members(group)
        if group == own:
            mates = mates[mates != host]
        if not len(mates):
            continue
        # In a large group the host itself moves no median.
        is_few = group == own and len(mates) < _MANY
        usual = _compute_usual_us(times, mates) if is_few else usual_of[group].copy()
        usual[host] = np.nan
        fit = _fit_excess(times[host], usual, np.isin(np.arange(len(times)), mates))
        if fit is not None and (best is None or fit[0] < best[0]):
            best = fit
    return None if best is None else best[1]


def _find_nearest_groups(own_us: Floats, usual_of: Mapping[int, Floats]) -> list[int]:
    """Return up to three groups whose median round trips are most like this host's."""
    apart = {group: np.abs(own_us - usual) for group, usual in usual_of.items()}
    unlike = {
        group: float(np.nanmean(each)) for group, each in apart.items() if np.isfinite(each).any()
    }
    return sorted(unlike, key=lambda group: unlike[group])[:_CANDIDATES]


def _fit_excess(
    own_us: Floats, usual: Floats, is_mate: npt.NDArray[np.bool_]
) -> tuple[float, tuple[float, float, float, int] | None] | None:
    """Return the misfit in µs of a constant excess, and that excess as `_find_excess` does.

    None with too few of both; without an excess above 0 that most hosts see, its part is None.
    """
    beyond: Floats = own_us - usual
    known = np.isfinite(beyond)
    if known.sum() < _LEAST_COMPARED:
        return None
    excess_us = float(np.median(beyond[known]))
    misfit = float(np.mean(np.abs(beyond[known] - excess_us)))
    if excess_us <= 0.0:
        return misfit, None
    agree = (beyond >= _LOW * excess_us) & (beyond <= _HIGH * excess_us)
    usual_us = float(np.median(usual[known]))
    near = known & is_mate
    far = known & ~near
    if near.any() and far.any():
        apart_us = abs(float(np.median(beyond[near]) - np.median(beyond[far])))
        if apart_us > _DIFFER * excess_us + _NOISE * usual_us:
            return misfit, None
    if agree[known].mean() < _AGREE:
        return misfit, None
    share = float(np.median(beyond[known] / usual[known]))
    return misfit, (share, excess_us, usual_us, int(known.sum()))


def _compute_usual_us(times: Matrix, mates: Indices) -> Floats:
    """Return the median round-trip time in µs from some hosts to each host, (N,)."""
    return median_rows(times[mates].T)
