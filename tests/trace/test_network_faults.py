"""Tracing where routers and hosts are silent, refuse, or send packets in circles."""

from __future__ import annotations

import contextlib

import pytest

from support.fake_python import CRASHES
from support.lab import Lab
from support.local_hosts import ListSink
from support.routers import listener, mute, route, setting, silent_router
from support.trace import Directions, true_ways
from support.trace_hosts import lab_hosts, trace_between

pytestmark = pytest.mark.lab


def traced(lab: Lab, *, only: str | None = None, port: int = 0) -> ListSink:
    """What tracing yields: between all hosts, or from those of one rack only."""
    faults = {name: CRASHES for name in lab.names if only and name not in lab.racks[only]}
    with lab_hosts(lab, faults) as hosts:
        return trace_between(hosts, port=port)


def ways(lab: Lab, sink: ListSink) -> Directions:
    names = lab.names
    for reading in sink.readings:
        assert reading.hops == len(reading.routers) + 1
    return {(names[way.source], names[way.destination]): way.routers for way in sink.readings}


def reasons(lab: Lab, sink: ListSink) -> dict[tuple[str, str], str]:
    names = lab.names
    return {(names[loss.source], names[loss.destination]): loss.reason for loss in sink.pair_losses}


def test_a_silent_router_is_a_gap_and_the_hops_are_known(routed: Lab) -> None:
    with silent_router(routed, "spine"):
        sink = traced(routed)
    truth = true_ways(routed)
    assert ways(routed, sink) == {
        pair: way and (way[0], None, way[2]) for pair, way in truth.items()
    }


def test_only_the_destination_answers(routed: Lab) -> None:
    with contextlib.ExitStack() as stack:
        for router in ("r1", "r2", "spine"):
            stack.enter_context(silent_router(routed, router))
        sink = traced(routed)
    assert ways(routed, sink) == {
        pair: (None,) * len(way) for pair, way in true_ways(routed).items()
    }


def test_what_udp_does_not_reach_icmp_echo_does(routed: Lab) -> None:
    with listener(routed, routed.names[0]):
        sink = traced(routed)
    assert ways(routed, sink) == true_ways(routed)


def test_a_host_that_drops_probes_is_silent_and_traces_itself(routed: Lab) -> None:
    host = routed.names[0]
    with mute(routed, host):
        sink = traced(routed)
        through_another_port = traced(routed, port=33500)
    truth = true_ways(routed)
    assert ways(routed, sink) == {pair: way for pair, way in truth.items() if pair[1] != host}
    said = reasons(routed, sink)
    assert {destination for _, destination in said} == {host}
    for (source, _), reason in said.items():
        way = truth[source, host]
        last = f"{way[-1]}, hop {len(way)}, was the last" if way else "nor does a router"
        assert reason == f"{host} answers no probe, {last}"
    assert ways(routed, through_another_port) == truth


def test_a_network_that_drops_icmp_shows_nothing(routed: Lab) -> None:
    with contextlib.ExitStack() as stack:
        for router in ("r1", "r2", "spine"):
            stack.enter_context(silent_router(routed, router))
        for host in routed.names:
            stack.enter_context(mute(routed, host))
        sink = traced(routed)
    assert sink.readings == []
    assert reasons(routed, sink) == {
        (source, host): f"{host} answers no probe, nor does a router"
        for source, host in true_ways(routed)
    }


@pytest.mark.parametrize(
    ("kind", "words"),
    [("prohibit", "administratively prohibited"), ("unreachable", "host unreachable")],
)
def test_a_router_that_refuses_is_named(routed: Lab, kind: str, words: str) -> None:
    host = routed.racks["r2"][0]
    with route(routed, "r1", kind, f"{routed.truth['addresses'][host]}/32"):
        sink = traced(routed, only="r1")
    said = reasons(routed, sink)
    for source in routed.racks["r1"]:
        assert said[source, host] == f"{routed.route(source, host)[0]}, hop 1, says: {words}"


def test_packets_that_go_in_circles_are_reported(routed: Lab) -> None:
    source, mate = routed.racks["r1"]
    host = routed.racks["r2"][0]
    to_host, to_mate = (routed.truth["addresses"][name] for name in (host, mate))
    with contextlib.ExitStack() as stack:
        # The router gives the packets to a host of the rack, which gives them back.
        stack.enter_context(route(routed, "r1", f"{to_host}/32", "via", to_mate))
        stack.enter_context(setting(routed, mate, "ip_forward", "1"))
        for which in ("all", "br0"):
            # Else the router would tell the source of that shorter way.
            stack.enter_context(setting(routed, "r1", f"conf/{which}/send_redirects", "0"))
        sink = traced(routed, only="r1")
    router = routed.route(source, host)[0]
    circle = f"packets go in circles: {router} is hop 1 and hop 3"
    assert reasons(routed, sink)[source, host] == circle
