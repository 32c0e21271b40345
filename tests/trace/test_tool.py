"""Tracing between addresses of this machine: what workers and the coordinator do to each other."""

from __future__ import annotations

from typing import Any, cast

import pytest

from plink.probes.errors import OptionError
from plink.probes.reach import ReachedHost
from plink.probes.samples import RouteReading
from plink.probes.trace import tool
from support.fake_python import QUICK
from support.local_hosts import ListSink
from support.pairs import all_pairs
from support.trace_hosts import HEALTHY, loopback_hosts, trace_between

READY_TWICE = "echo ready; echo ready; exec cat >/dev/null"


def test_addresses_of_one_machine_are_one_hop_apart() -> None:
    with loopback_hosts(HEALTHY, HEALTHY) as hosts:
        sink = trace_between(hosts)
    assert sink.host_losses == []
    assert {RouteReading(i, j, 1, ()) for i, j in all_pairs(2)} == set(sink.readings)
    assert len(sink.readings) == 2


def test_workers_that_hang_are_given_up_and_hold_up_nobody(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(tool, "_ANSWER_WITHIN_S", 3.0)
    never_starts = "exec cat >/dev/null"
    hangs = f"{{ {QUICK}; }} | {{ sed -u 1q; cat >/dev/null; }}"
    with loopback_hosts(hangs, QUICK, never_starts, QUICK) as hosts:
        sink = trace_between(hosts)
    reason = "its trace worker does not answer"
    assert [(loss.host, loss.reason) for loss in sink.host_losses] == [(0, reason), (2, reason)]
    assert sink.measured() == {(i, j) for i, j in all_pairs(4) if i in (1, 3)}
    assert {loss.reason for loss in sink.pair_losses} == {f"h0: {reason}", f"h2: {reason}"}


def test_a_worker_that_says_too_much_is_given_up() -> None:
    with loopback_hosts(READY_TWICE, QUICK) as hosts:
        sink = trace_between(hosts)
    assert [loss.reason for loss in sink.host_losses] == [
        "its trace worker reports what it was not asked"
    ]
    assert sink.measured() == {(1, 0)}


def test_a_killed_worker_costs_what_it_still_had_to_trace() -> None:
    with loopback_hosts(QUICK, QUICK, QUICK, QUICK) as hosts:

        def kill_once(count: int) -> None:
            if count == 1:
                victim = sink.readings[0].source
                cast("Any", hosts[victim].session).started[0].process.kill()

        sink = ListSink(on_reading=kill_once)
        trace_between(hosts, sink=sink)
    (loss,) = sink.host_losses
    assert loss.reason == "its trace worker ended"
    assert sink.measured() | sink.lost() == all_pairs(4)
    assert {source for source, _ in sink.lost()} == {loss.host}


def test_ipv6_is_refused_in_words() -> None:
    with loopback_hosts(HEALTHY, HEALTHY) as hosts:
        sixth = [ReachedHost(**{**vars(host), "address": "fd00::1"}) for host in hosts]
        with pytest.raises(OptionError, match=r"only IPv4, but h0 has address fd00::1"):
            trace_between(sixth)
