"""Run the files that took longest in the last run first, and record each one's duration.

The record is `build/test-durations.json`. The controller reads and writes it and hands it to its
workers, which have to agree on the order. Without a record, on a fresh clone, a file is estimated
from its tests' time limits; only labs and limits of their own make a file long.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
from collections import defaultdict
from collections.abc import Generator, Mapping
from pathlib import Path
from typing import Any

import pytest

# Files from this on are spread over the run, longest first; the others fill the time between.
LONG_S = 5.0
# Estimate for a file without a record: tests with a lab or with a limit of their own take up to a
# tenth of their limit on a quiet machine.
_WITHOUT_LAB_S, _USUAL_LIMIT_S, _SHARE_OF_LIMIT = 1.0, 300, 0.1
_WITH_LAB = re.compile(r"\bmark\.lab\b")
_LIMIT_S = re.compile(r"\bmark\.timeout\((\d+)\)")


def read_record(path: Path) -> dict[str, float]:
    """Return the recorded seconds of each file by its name; empty if there is no record."""
    with contextlib.suppress(OSError, ValueError, TypeError, AttributeError):
        record = json.loads(path.read_text(encoding="utf-8"))
        return {str(name): float(seconds) for name, seconds in record.items()}
    return {}


def estimate_seconds(path: Path) -> float:
    """Guess how long a file without a record takes."""
    text = path.read_text(encoding="utf-8")
    limits_s = [int(limit_s) for limit_s in _LIMIT_S.findall(text)]
    if _WITH_LAB.search(text):
        limits_s.append(_USUAL_LIMIT_S)
    return _SHARE_OF_LIMIT * max(limits_s) if limits_s else _WITHOUT_LAB_S


def order_files(seconds: Mapping[str, float]) -> list[str]:
    """Order the files: the long ones, longest first, with the others spread evenly between them.

    The short ones compute while the long ones wait for hosts. No long file comes last, when the
    other workers have nothing more to do.
    """
    files = sorted(seconds, key=lambda name: (-seconds[name], name))
    long = [name for name in files if seconds[name] >= LONG_S]
    short = files[len(long) :]
    place = {name: i / len(some) for some in (long, short) for i, name in enumerate(some)}
    return sorted(files, key=place.__getitem__)


class Durations:
    """Orders the files by their last record, and records how long their tests take."""

    def __init__(self, config: pytest.Config) -> None:
        self._path = config.rootpath / "build" / "test-durations.json"
        worker: Mapping[str, Any] | None = getattr(config, "workerinput", None)
        self._is_worker = worker is not None
        self._record: dict[str, float]
        self._record = read_record(self._path) if worker is None else worker["durations"]
        # The share of the folders after which this worker begins to collect.
        self._turn = 0.0
        if worker is not None:
            self._turn = int(worker["workerid"].removeprefix("gw")) / worker["workercount"]
        self._took_s: defaultdict[str, float] = defaultdict(float)

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        node.workerinput["durations"] = self._record

    @pytest.hookimpl(wrapper=True)
    def pytest_make_collect_report(
        self, collector: pytest.Collector
    ) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
        """Let each worker begin with other folders.

        pytest compiles the tests when it first collects them. Workers that all went the same way
        would all compile all of them, where thus each finds what the others have compiled.
        """
        report = yield
        if isinstance(collector, pytest.Directory):
            start = int(len(report.result) * self._turn)
            report.result = [*report.result[start:], *report.result[:start]]
        return report

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        seconds: dict[str, float] = {}
        for item in items:
            name = _file_of(item.nodeid)
            if name not in seconds:
                recorded = self._record.get(name)
                seconds[name] = estimate_seconds(item.path) if recorded is None else recorded
        place = {name: i for i, name in enumerate(order_files(seconds))}
        items.sort(key=lambda item: place[_file_of(item.nodeid)])

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._took_s[_file_of(report.nodeid)] += report.duration

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        stopped = session.shouldstop or session.shouldfail
        if self._is_worker or stopped or not _runs_whole_files(session.config):
            return
        record = self._record | {name: round(s, 2) for name, s in self._took_s.items()}
        root = session.config.rootpath
        record = {name: s for name, s in record.items() if (root / name).exists()}
        self._path.parent.mkdir(exist_ok=True)
        written = self._path.with_suffix(f".{os.getpid()}")
        written.write_text(json.dumps(record, indent=0, sort_keys=True), encoding="utf-8")
        written.replace(self._path)


def _file_of(nodeid: str) -> str:
    return nodeid.partition("::")[0]


def _runs_whole_files(config: pytest.Config) -> bool:
    """Return whether no test of a file was left out: half a file says nothing about its length."""
    chosen = config.option.keyword or config.option.markexpr or config.option.collectonly
    return not chosen and not any("::" in argument for argument in config.args)


def pytest_configure(config: pytest.Config) -> None:
    """Order and record in every process of the run."""
    config.pluginmanager.register(Durations(config), "durations")
