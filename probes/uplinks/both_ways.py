"""Measurement of what a group sends and receives at the same time, as on a full-duplex link."""

from __future__ import annotations

from collections.abc import Sequence

from plink.probes.iperf3.parse import received_between_gbit_s
from plink.probes.iperf3.tool import WARM_UP_SHARE
from plink.probes.uplinks.at_once import AtOnce
from plink.probes.uplinks.plan import plan_flows
from plink.probes.uplinks.window import Timed, common_windows_s

# As when uplinks are measured, those that did not run together are tried again, and longer; so are
# those that carried little, since other work takes time from transfers now and then, and adds none.
_TRIES = (1, 2, 4)


def both_ways_gbit_s(
    between: AtOnce,
    groups: Sequence[Sequence[int]],
    group: int,
    duration_s: int,
    enough_gbit_s: float,
) -> float | None:
    """Measure a group's rates with the other groups, both directions at once, in Gbit/s.

    Args:
        between: the hosts.
        groups: indices of the hosts of each group; at least two groups, none empty.
        group: index of the one in question.
        duration_s: of the transfers; those that do not run together are tried again, and longer.
        enough_gbit_s: of less the most of several tries counts.

    Returns:
        None where one failed each time, or they never ran together.
    """
    (flows,) = plan_flows(groups, [group])
    pairs = [
        pair
        for flow in flows
        for pair in ((flow.member, flow.partner), (flow.partner, flow.member))
    ]
    most: float | None = None
    for longer in _TRIES:
        if between.transfer.left_s() <= longer * duration_s:
            break
        found = _together_gbit_s(between, pairs, longer * duration_s)
        if found is not None:
            most = max(found, most or 0.0)
            if most >= enough_gbit_s:
                break
    return most


def _together_gbit_s(
    between: AtOnce, pairs: Sequence[tuple[int, int]], duration_s: int
) -> float | None:
    outcomes = between.run(pairs, duration_s)
    timed = [outcome for outcome in outcomes if isinstance(outcome, Timed)]
    if not timed or len(timed) < len(pairs):
        return None
    windows_s = common_windows_s(timed, duration_s, WARM_UP_SHARE * duration_s)
    if windows_s is None:
        return None
    rates = [
        received_between_gbit_s(each.report, *window_s)
        for each, window_s in zip(timed, windows_s, strict=True)
    ]
    known = [rate for rate in rates if rate is not None]
    return sum(known) if len(known) == len(rates) else None
