"""Where servers are and how many ports they have, beside all-reduces of the same workers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from benchkit.hub.crowd import Times
from benchkit.hub.setting import MBIT, RATE_MBIT, SIZE_BYTES, Rack, Setting, setting
from benchkit.plans import TCP_SHARE
from benchkit.report import Report
from plink.solvers.forests.kinds import flat, ring

WORKERS = 8
PORTS = (1, 2, 4, 5, 8)
_KEYS = 40
_HEADER = (
    "way",
    "s (least / median / most)",
    "theory, s",
    "theory / measured",
    "processor of workers, s",
)


def keys_of(items: int, keys: int = _KEYS) -> list[int]:
    """Lengths of so many equal parameters."""
    each, left = divmod(items, keys)
    return [each + (number < left) for number in range(keys)]


def line_s(size_bytes: float = SIZE_BYTES, rate_mbit: float = RATE_MBIT) -> float:
    """S/B: what a link takes for the buffer by TCP."""
    return size_bytes * 8 / (rate_mbit * MBIT) / TCP_SHARE


def run(rounds: int, report: Report) -> None:
    """Measure and print."""
    rack = Rack(WORKERS, [[RATE_MBIT] * ports for ports in PORTS])
    with setting([rack], colocated=True) as there:
        found = _measure_placements(there, rounds)
    with setting([Rack(WORKERS, rate_mbit=2 * RATE_MBIT)]) as doubled:
        items = SIZE_BYTES // 4
        doubled.open_engine("ring", ring(range(WORKERS)), items)
        doubled.open_gloo("gloo", items)
        twice = doubled.crowd.rounds(["ring", "gloo"], rounds)
    _show(found, twice, report)


def _measure_placements(there: Setting, rounds: int) -> dict[str, Times]:
    items = SIZE_BYTES // 4
    keys = keys_of(items)
    there.open_gloo("gloo", items)
    there.open_engine("ring", ring(range(WORKERS)), items)
    there.open_engine("flat", flat(np.ones(WORKERS)), items)
    for number, ports in enumerate(PORTS):
        there.open_hub(f"ncc-{ports}", [f"r0s{number}"], keys)
    there.open_hub("cs", [f"w{number}" for number in range(WORKERS)], keys)
    largest = f"r0s{len(PORTS) - 1}"
    there.open_hub("ncc-momentum", [largest], keys, optimizer="momentum")
    names = ["gloo", "ring", "flat", *(f"ncc-{ports}" for ports in PORTS), "cs", "ncc-momentum"]
    found = there.crowd.rounds(names, rounds)
    seven = there.crowd.first(WORKERS - 1)
    there.open_hub("seven", [largest], keys, crowd=seven)
    return found | seven.rounds(["seven"], rounds)


def theory_s(name: str) -> float:
    """What each way takes at least, by the formulas of docs/hub.md."""
    line = line_s()
    if name.startswith("ncc-") and name != "ncc-momentum":
        return line * max(1.0, WORKERS / int(name.removeprefix("ncc-")))
    if name in ("ncc-momentum", "seven"):
        return line
    return line * 2 * (WORKERS - 1) / WORKERS


def _show(found: dict[str, Times], twice: dict[str, Times], report: Report) -> None:
    rows = [_row(name, times, theory_s(name)) for name, times in found.items()]
    rows += [
        _row(f"{name}, workers of {2 * RATE_MBIT} Mbit/s", times, theory_s("ring") / 2)
        for name, times in twice.items()
    ]
    report.table(_HEADER, rows, "Placements")
    at = {name: times.median_s for name, times in found.items()}
    hub = at["ncc-8"]
    report.at_least("NCC, k = 8, over Gloo", 1.60, at["gloo"] / hub)
    plan_s = min(at["ring"], at["flat"])
    report.at_least("NCC, k = 8, over plink's best plan", 1.60, plan_s / hub)
    report.at_least("NCC, k = 8, of S/B", 94, 100 * line_s() / hub, "%")
    for ports in PORTS:
        off = abs(at[f"ncc-{ports}"] / theory_s(f"ncc-{ports}") - 1)
        report.at_most(f"k = {ports}: off its theory by", 10, 100 * off, "%")
    report.at_most("k = 4: all-reduce over NCC (theory: below 1)", 1.0, plan_s / at["ncc-4"])
    report.at_least("k = 5: all-reduce over NCC (theory: above 1)", 1.0, plan_s / at["ncc-5"])
    gain = (WORKERS - 1) / at["seven"] / (WORKERS / plan_s)
    report.at_least("7 workers and a server over an all-reduce of 8, samples/s", 1.40, gain)
    report.at_least("NCC over CS", 1.60, at["cs"] / hub)
    report.at_least("CS over plink flat", 0.95, at["flat"] / at["cs"])
    report.at_most("optimiser on over off", 3, 100 * (at["ncc-momentum"] / hub - 1), "%")
    report.say(caveat(hub, min(times.median_s for times in twice.values())))


def _row(name: str, times: Times, theory: float) -> Sequence[str]:
    cpu_s = float(np.median(times.cpu_s))
    return name, times.text, f"{theory:.3f}", f"{theory / times.median_s:.2f}", f"{cpu_s:.2f}"


def caveat(hub_s: float, doubled_s: float) -> str:
    """The row that is always printed: the server's bandwidth is not for nothing."""
    least = WORKERS**2 / (2 * (WORKERS - 1))
    return (
        "**A server wins only if its ports carry more than N²/(2(N-1)) times a worker's link: "
        f"here {least:.2f} times.** With the {WORKERS} ports' rate given to the workers instead, "
        f"which then have {2 * RATE_MBIT} Mbit/s each, an all-reduce took {doubled_s:.3f} s, "
        f"{doubled_s / hub_s:.3f} of the hub's time (theory: 0.875)."
    )
