"""Two racks with a server each: sums in the rack first, servers for all, and no servers."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence

import numpy as np

from benchkit.hub.crowd import Times
from benchkit.hub.placements import keys_of
from benchkit.hub.setting import MBIT, RATE_MBIT, SIZE_BYTES, Rack, setting
from benchkit.plans import TCP_SHARE, best_forest, lab_network
from benchkit.report import Report
from plink.hub.racks import Racks, judge_racks

WORKERS = 4
PORTS = (4, 5)
_SLOW_MBIT, _FAST_MBIT = 200, 1600
_UPLINKS_MBIT = (_SLOW_MBIT, 800, 1200, _FAST_MBIT)
HIERARCHY, SHARDED, TWO_LEVELS = "hierarchy", "sharded servers", "2LHA"
_HEADER = (
    "uplink, Mbit/s",
    "ports",
    HIERARCHY,
    SHARDED,
    f"{TWO_LEVELS} of the engine",
    f"{SHARDED} / {HIERARCHY}",
    f"{TWO_LEVELS} / {HIERARCHY}",
    "by links alone: the same two",
    "the paper's inequality: hierarchy",
)


def run(rounds: int, report: Report) -> None:
    """Measure and print."""
    found = {
        (uplink, ports): _measure_racks(uplink, ports, rounds)
        for uplink in _UPLINKS_MBIT
        for ports in (PORTS if uplink == _FAST_MBIT else PORTS[:1])
    }
    report.table(_HEADER, [_row(*case, times) for case, times in found.items()], "Across racks")
    slow = {name: times.median_s for name, times in found[_SLOW_MBIT, PORTS[0]].items()}
    report.at_least("uplink 200: hierarchy over sharded", 3.5, slow[SHARDED] / slow[HIERARCHY])
    against = slow[TWO_LEVELS] / slow[HIERARCHY]
    report.at_least("uplink 200: hierarchy over 2LHA", 0.95, against)
    report.at_most("uplink 200: hierarchy over 2LHA", 1.05, against)
    for ports in PORTS:
        fast = found[_FAST_MBIT, ports]
        gain = fast[TWO_LEVELS].median_s / fast[HIERARCHY].median_s
        report.at_least(f"uplink 1,600, {ports} ports: hierarchy over 2LHA", 1.5, gain)
    measured = _crossover([(uplink, _gain(found[uplink, PORTS[0]])) for uplink in _UPLINKS_MBIT])
    predicted = _crossover([(uplink, _by_links(uplink)) for uplink in range(_SLOW_MBIT, 4000, 10)])
    report.say(
        f"Sharded servers are as fast as the hierarchy from {measured:.0f} Mbit/s on; by links "
        f"alone from {predicted:.0f}."
    )
    off = abs(measured / predicted - 1)
    report.at_most("crossover of the uplink: off the model by", 15, 100 * off, "%")


def _measure_racks(uplink_mbit: int, ports: int, rounds: int) -> Mapping[str, Times]:
    rack = Rack(WORKERS, [[RATE_MBIT] * ports], uplink_mbit=uplink_mbit)
    servers = ["r0s0", "r1s0"]
    with setting([rack, rack]) as there:
        keys = keys_of(SIZE_BYTES // 4)
        there.open_hub("sharded", servers, keys)
        there.open_hub_of_racks("hierarchy", servers, keys, WORKERS)
        rack_of = [number // WORKERS for number in range(2 * WORKERS)]
        network = lab_network(rack_of, RATE_MBIT * MBIT, uplink_mbit * MBIT)
        routes = best_forest("2lha", network, np.arange(2 * WORKERS), SIZE_BYTES)[1]
        there.open_engine("2lha", routes, SIZE_BYTES // 4)
        found = there.crowd.rounds(["hierarchy", "sharded", "2lha"], rounds)
    return {
        HIERARCHY: found["hierarchy"],
        SHARDED: found["sharded"],
        TWO_LEVELS: found["2lha"],
    }


def _gain(found: Mapping[str, Times]) -> float:
    return found[SHARDED].median_s / found[HIERARCHY].median_s


def _verdict(uplink_mbit: float, ports: int) -> tuple[float, float, bool]:
    """By links alone: sharded over hierarchy, two levels over hierarchy; the paper's word."""
    racks = Racks(2, WORKERS, RATE_MBIT * MBIT, ports * RATE_MBIT * MBIT, uplink_mbit * MBIT)
    said = judge_racks(racks, SIZE_BYTES / TCP_SHARE)
    return (
        said.links_sharded_s / said.links_hierarchy_s,
        said.links_two_level_s / said.links_hierarchy_s,
        said.is_better,
    )


def _by_links(uplink_mbit: int) -> float:
    return _verdict(uplink_mbit, PORTS[0])[0]


def _crossover(gains: Sequence[tuple[float, float]]) -> float:
    """The uplink from which the first is no longer faster, between those that were tried."""
    for (before, more), (after, less) in itertools.pairwise(gains):
        if more > 1.0 >= less:
            return before + (after - before) * (more - 1.0) / (more - less)
    return float("nan")


def _row(uplink_mbit: int, ports: int, found: Mapping[str, Times]) -> tuple[str, ...]:
    sharded, levels, is_better = _verdict(uplink_mbit, ports)
    hierarchy_s = found[HIERARCHY].median_s
    return (
        str(uplink_mbit),
        str(ports),
        *(f"{times.median_s:.3f} s" for times in found.values()),
        f"{found[SHARDED].median_s / hierarchy_s:.2f}",
        f"{found[TWO_LEVELS].median_s / hierarchy_s:.2f}",
        f"{sharded:.2f}, {levels:.2f}",
        "yes" if is_better else "no",
    )
