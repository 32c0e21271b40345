"""How aggregation and steps are done, and what a slow worker, a snapshot and an order cost."""

from __future__ import annotations

import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from statistics import median

from benchkit.hub.crowd import Crowd
from benchkit.hub.placements import keys_of
from benchkit.hub.setting import RATE_MBIT, Rack, Setting, setting
from benchkit.report import Report

WORKERS = 8
_PAIR = 2
_ADAM_BYTES = 100_000_000
_SMALL_BYTES = 2_000_000
_SNAPSHOT_BYTES = 20_000_000
_SLOW_TIMES = 4.0
# What a worker of a training does beside pushing and pulling.
_COMPUTE_S = 0.2
_SERVER = "r0s0"
_LEAD_S = 0.2


def run(rounds: int, seconds: float, report: Report) -> None:
    """Measure and print."""
    _compare_commits(rounds, report)
    _slow_worker(seconds, report)
    _snapshots(seconds, report)
    _order(rounds, report)


def _compare_commits(rounds: int, report: Report) -> None:
    """Adam as chunks come, against Adam when the whole model is there."""
    keys = keys_of(_ADAM_BYTES // 4)
    with setting([Rack(_PAIR, [[None]], rate_mbit=None)]) as there:
        for commit in ("stream", "step"):
            there.open_hub(f"adam-{commit}", [_SERVER], keys, optimizer="adam", commit=commit)
        found = there.crowd.rounds(["adam-stream", "adam-step"], rounds)
    rows = [(name, times.text) for name, times in found.items()]
    report.table(("way", "s (least / median / most)"), rows, "Adam, 100 MB, unshaped")
    gain = found["adam-step"].median_s / found["adam-stream"].median_s
    report.at_least("fused over an optimiser after the whole model", 1.1, gain)


def _slow_worker(seconds: float, report: Report) -> None:
    """Each computes for so long; the last one for four times that."""
    keys = keys_of(_SMALL_BYTES // 4)
    rows, reached = [], 0.0
    with setting([Rack(WORKERS, [[None]], rate_mbit=None)]) as there:
        alone_s = _COMPUTE_S
        for mode in ("sync", "async"):
            there.open_hub(mode, [_SERVER], keys, optimizer="momentum", mode=mode)
            times = _iterations(there.crowd, mode, seconds)
            reached = sum(times) * alone_s / seconds
            rows.append((mode, ", ".join(f"{one:.1f}" for one in times), f"{reached:.2f}"))
    header = ("mode", "iterations of each worker", "throughput, in workers that only compute")
    report.table(header, rows, "One of 8 workers is four times slower")
    report.at_least("async with a slow worker: workers' throughput (theory: 7.25)", 6.5, reached)


def _iterations(crowd: Crowd, name: str, seconds: float) -> list[float]:
    at_s = time.monotonic() + _LEAD_S
    for number in range(crowd.workers):
        slower = _SLOW_TIMES if number == crowd.workers - 1 else 1.0
        crowd.only(number).tell(
            do="repeat",
            name=name,
            at_s=at_s,
            until_s=at_s + seconds,
            compute_s=_COMPUTE_S * slower,
        )
    return [float(answer["times"]) for answer in crowd.answers()]


def _snapshots(seconds: float, report: Report) -> None:
    """A snapshot every second, and none."""
    keys = keys_of(_SNAPSHOT_BYTES // 4)
    with (
        tempfile.TemporaryDirectory(prefix="plink-bench-") as folder,
        setting([Rack(_PAIR, [[RATE_MBIT] * _PAIR])], snapshots=Path(folder)) as there,
    ):
        there.open_hub("saved", [_SERVER], keys, optimizer="adam")
        quiet = _durations(there, "saved", seconds)
        with _every_second(lambda: there.checkpoint(_SERVER, "saved")) as saved:
            busy = _durations(there, "saved", seconds)
    usual, pause = median(quiet), max(busy) - median(quiet)
    rows = [
        (what, f"{median(its):.4f}", f"{max(its):.4f}", f"{len(its) / sum(its):.2f}")
        for what, its in (("none", quiet), (f"{len(saved)}, one a second", busy))
    ]
    header = ("snapshots", "iteration, median, s", "longest, s", "iterations / s")
    report.table(header, rows, "Snapshots, Adam, 20 MB")
    report.at_least("snapshots that were taken", 1, len(saved))
    cost = 1 - (len(busy) / sum(busy)) / (len(quiet) / sum(quiet))
    report.at_most("a snapshot a second costs", 5, 100 * cost, "%")
    report.at_most("a snapshot's pause, in iterations", 1, pause / usual)


def _durations(there: Setting, name: str, seconds: float) -> list[float]:
    at_s = time.monotonic() + _LEAD_S
    there.crowd.tell(do="repeat", name=name, at_s=at_s, until_s=at_s + seconds)
    return [float(one) for one in there.crowd.answers()[0]["seconds"]]


@contextmanager
def _every_second(call: Callable[[], object]) -> Iterator[list[float]]:
    """Call again and again from another thread; when it was done."""
    done: list[float] = []
    is_over = threading.Event()

    def work() -> None:
        while not is_over.wait(1.0):
            call()
            done.append(time.monotonic())

    thread = threading.Thread(target=work)
    thread.start()
    try:
        yield done
    finally:
        is_over.set()
        thread.join()


def _order(rounds: int, report: Report) -> None:
    """Additions in the workers' order, and as gradients come."""
    keys = keys_of(_SNAPSHOT_BYTES // 4)
    rows: list[Sequence[str]] = []
    with setting([Rack(WORKERS, [[None]], rate_mbit=None)]) as there:
        for is_in_order in (False, True):
            name = "in-order" if is_in_order else "as-they-come"
            there.open_hub(name, [_SERVER], keys, deterministic=is_in_order)
        found = there.crowd.rounds(["as-they-come", "in-order"], rounds)
        early = [int(one["early_bytes"]) for one in there.status(_SERVER, list(found))["services"]]
    for (name, times), bytes_ in zip(found.items(), early, strict=True):
        rows.append((name, times.text, f"{bytes_ / _SNAPSHOT_BYTES:.2f}"))
    header = ("additions", "s (least / median / most)", "most that waited, in models")
    report.table(header, rows, "In-order sums, 8 workers, 20 MB, unshaped")
    report.at_most("in-order sums: models that wait", WORKERS - 1, early[1] / _SNAPSHOT_BYTES)
    cost = found["in-order"].median_s / found["as-they-come"].median_s - 1
    report.say(f"In-order sums take {100 * cost:+.0f} % of the time.")
