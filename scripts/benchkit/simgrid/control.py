"""What agreeing takes on plink's clock, which has one latency for all, and on SimGrid."""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator, Sequence

import numpy as np

from benchkit.report import Report
from plink.simulate.control.costs import Costs
from plink.simulate.control.negotiation import negotiation
from plink.simulate.datacentres import DataCentre, racks
from plink.simulate.simgrid.run import run_schedule

_HOP_US = 0.5
# Between racks; what a processor does for each is that of the simulated trainings.
_COSTS = Costs(latency_s=4e-6 * _HOP_US, step_s=5e-7, in_s=3e-7, out_s=1e-7)
_PER_RACK = 16
# SimGrid looks every link up in every zone as it is made.
_PER_LARGE_RACK, _LARGE = 138, 8192


def show(arguments: argparse.Namespace, report: Report) -> None:
    """By mode and ranks: from the announcements, or the end of a cycle, to the last release."""
    off: list[float] = []
    report.table(
        ("mode", "ranks", "messages", "bytes", "plink's clock", "SimGrid", "of it", "took"),
        _rows(arguments, off),
        title="Agreeing on a tensor that all announce at once",
    )
    if off:
        report.at_most("control: plink's clock beside SimGrid, median", 15, np.median(off), "%")


def _rows(arguments: argparse.Namespace, off: list[float]) -> Iterator[Sequence[object]]:
    for ranks in arguments.control_ranks:
        centre = _centre(ranks)
        for mode in arguments.modes:
            begin = time.monotonic()
            found = negotiation(mode, ranks, _COSTS)
            clock_s = found.time_s - found.slept_s
            row = (mode, ranks, found.messages, found.bytes, _us(clock_s))
            try:
                simulated = run_schedule(
                    centre.platform,
                    found.schedule,
                    np.arange(ranks),
                    eager_bytes=float("inf"),
                    timeout_s=arguments.timeout,
                )
            except TimeoutError:
                yield (*row, "too long", "-", f"{time.monotonic() - begin:.0f} s")
                continue
            simulated_s = simulated.time_s - found.slept_s
            off.append(100.0 * abs(clock_s / simulated_s - 1.0))
            took = f"{time.monotonic() - begin:.0f} s"
            yield (*row, _us(simulated_s), f"{clock_s / simulated_s:.2f}", took)


def _centre(ranks: int) -> DataCentre:
    per_rack = _PER_RACK if ranks <= _LARGE else _PER_LARGE_RACK
    return racks(-(-ranks // per_rack), per_rack, rate_gbit_s=10.0, hop_us=_HOP_US)


def _us(seconds: float) -> str:
    return f"{1e6 * seconds:.1f} µs"
