"""Prometheus reads the metrics, and the dashboard asks for none that is not there."""

from __future__ import annotations

import io
import json
import re
from collections import deque
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.parser import text_string_to_metric_families
from rich.console import Console

from autotune.deciding import Switching
from autotune.reporting import first, join, report
from autotune.serving import plan_of
from plink.autotune.daemon.job import Job
from plink.autotune.daemon.metrics import JobCollector
from plink.autotune.daemon.terminal import view
from plink.autotune.protocol.status import Event
from plink.base.replacing import replace

DASHBOARD = Path(__file__).resolve().parents[2] / "docs" / "autotune-dashboard.json"
RANKS = 3
DOOR = SimpleNamespace(dropped=4, mute=3, waiting=2)


def measured() -> Job:
    """A job that has decided once."""
    job = Job("job", plan_of(RANKS, hosts=True), Switching)
    plan = first(job.plan.forest)
    for rank in range(RANKS):
        job.joined(0.0, join(rank, plan, RANKS))
    for begin in (0, 10):
        for rank in range(RANKS):
            job.reported(0.0, rank, report(rank, plan, RANKS, begin))
    return job


def samples(job: Job) -> dict[tuple[str, ...], float]:
    """By name and labels, in the order of their names, what Prometheus reads."""
    registry = CollectorRegistry()
    registry.register(JobCollector([job.status], DOOR))
    text = generate_latest(registry).decode()
    return {
        (sample.name, *(value for _, value in sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def expressions(value: Any) -> Iterator[str]:
    """The queries of a dashboard."""
    if isinstance(value, dict):
        for name, inner in value.items():
            if name in ("expr", "query") and isinstance(inner, str):
                yield inner
            else:
                yield from expressions(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from expressions(inner)


def test_metrics_say_what_was_measured() -> None:
    found = samples(measured())
    assert found["plink_autotune_ranks_connected", "job"] == RANKS
    assert found["plink_autotune_windows_total", "job"] == 2
    assert found["plink_autotune_windows_unlogged_total", "job"] == 0
    assert found["plink_autotune_plan", "job"] == 1
    assert found["plink_autotune_plan_in_force", "job"] == 0
    assert found["plink_autotune_iteration_seconds", "job"] == 0.5
    # 1000 bytes are reduced in each iteration.
    assert found["plink_autotune_throughput_bytes_per_second", "job"] == 2000
    assert found["plink_autotune_decisions_total", "finetune", "job"] == 1
    assert found["plink_autotune_decisions_total", "roll_back", "job"] == 0
    assert found["plink_autotune_host_sent_bytes", "h1", "job"] == (100 + 102) / 2
    assert found["plink_autotune_connections_dropped_total",] == 4
    assert found["plink_autotune_connections_mute_total",] == 3
    assert found["plink_autotune_connections_waiting",] == 2


def test_the_dashboard_asks_for_metrics_that_there_are() -> None:
    there = {name for name, *_ in samples(measured())}
    asked = {
        name
        for expression in expressions(json.loads(DASHBOARD.read_text()))
        for name in re.findall(r"plink_autotune_\w+", expression)
    }
    assert len(asked) > 10
    assert asked - there == set()


def test_a_terminal_shows_load_and_decisions() -> None:
    console = Console(width=120, record=True, file=io.StringIO())
    job = measured()
    console.print(view([job.status]))
    text = console.export_text()
    assert "3 of 3 ranks" in text
    assert "(1 on its way)" in text
    assert "time for a change" in text
    assert [line for line in text.splitlines() if line.startswith("h2") and "█" in line]


def test_a_terminal_shows_names_and_events_as_they_are() -> None:
    console = Console(width=120, file=io.StringIO(), force_terminal=False)
    said = "no answer from [fe80::1]:22 [/usr/bin/iperf3]"
    status = measured().status
    hosts = ["[/h0]", "[h1]", "h2"]
    console.print(view([replace(status, hosts=hosts, latest=deque([Event(0.0, "\x1b[2J", said)]))]))
    text = console.file.getvalue()  # type: ignore[attr-defined]
    assert said in text
    assert "\x1b" not in text
    assert all(host in text for host in hosts)
