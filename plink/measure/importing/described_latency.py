"""Latencies of a described network: within a group, between groups, and between rows."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from plink.files.fields import Fields
from plink.files.groups import GroupRow
from plink.files.hosts import Group, Host
from plink.files.limits import MAX_RTT_US
from plink.files.measurements import RttMeasurement

TOOL = "described"

_LEVELS = 3


def latencies(
    top: Fields,
    hosts: Sequence[Host],
    groups: Sequence[Group],
    rows: Sequence[GroupRow],
    *,
    is_limited: bool,
) -> RttMeasurement | None:
    """Return round-trip times from the one-way latency of each pair's level; None without any.

    Args:
        top: the whole description.
        hosts, groups, rows: of it.
        is_limited: whether it says what links carry, on which a latency not said is zero.

    Raises:
        WrongUseError: latencies that cannot be.
    """
    if "latency_us" in top.values:
        levels = _latencies_us(top)
    elif is_limited:
        levels = [0.0]
    else:
        return None
    levels += [levels[-1]] * (_LEVELS - len(levels))
    group, row = _places(hosts, groups, rows)
    alike, same_row = group[:, None] == group, row[:, None] == row
    rtt_us = 2.0 * np.where(alike, levels[0], np.where(same_row, levels[1], levels[2]))
    np.fill_diagonal(rtt_us, np.nan)
    return RttMeasurement(
        rtt_us={10.0: rtt_us},
        reading=10.0,
        samples=np.isfinite(rtt_us).view(np.int8),
        losses=np.zeros(rtt_us.shape, dtype=np.int8),
        tool=TOOL,
        notes=["described, not measured"],
    )


def _latencies_us(top: Fields) -> list[float]:
    given = top.values["latency_us"]
    if not isinstance(given, list) or not 1 <= len(given) <= _LEVELS:
        raise top.error("latency_us", "one to three numbers, as in [10, 25, 60]")
    return top.numbers("latency_us", len(given), MAX_RTT_US / 2)


def _places(
    hosts: Sequence[Host], groups: Sequence[Group], rows: Sequence[GroupRow]
) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
    """Return each host's group number and row number, shape (H,) each.

    What is in no group or no row is alone, but where there are no groups, or no rows, at all.
    """
    group_of = {host: number for number, group in enumerate(groups) for host in group.hosts}
    row_of = {name: number for number, row in enumerate(rows) for name in row.groups}
    alone = len(groups)
    in_group = [
        group_of.get(host.name, alone + place if groups else 0) for place, host in enumerate(hosts)
    ]
    row_of_group = [row_of.get(group.name, len(rows) + n) for n, group in enumerate(groups)]
    in_row = [
        (row_of_group[group] if group < alone else len(rows) + group) if rows else 0
        for group in in_group
    ]
    return np.array(in_group, dtype=np.intp), np.array(in_row, dtype=np.intp)
