"""Tracing where routers and hosts are silent, refuse, or send packets in circles."""

from __future__ import annotations

import pytest

from support.fake_python import CRASHES
from support.lab import Lab
from support.local_hosts import ListSink
from support.routers import listener, mute, route, silent_router
from support.trace import Directions, true_ways
from support.trace_hosts import lab_hosts, trace_between

pytestmark = pytest.mark.lab


def traced(lab: Lab, *sources: str, port: int = 0) -> ListSink:
    """What tracing from these hosts to all others yields; the rest cannot trace."""
    faults = {name: CRASHES for name in lab.names if name not in sources}
    with lab_hosts(lab, faults) as hosts:
        return trace_between(hosts, port=port)


def ways(lab: Lab, sink: ListSink) -> Directions:
    names = lab.names
    for reading in sink.readings:
        assert reading.hops == len(reading.routers) + 1
    return {(names[way.source], names[way.destination]): way.routers for way in sink.readings}


def reasons(lab: Lab, sink: ListSink) -> dict[tuple[str, str], str]:
    """Why directions from hosts that can trace are lost."""
    names = lab.names
    unable = {loss.host for loss in sink.host_losses}
    return {
        (names[loss.source], names[loss.destination]): loss.reason
        for loss in sink.pair_losses
        if loss.source not in unable
    }


def true_from(lab: Lab, *sources: str) -> Directions:
    return {pair: way for pair, way in true_ways(lab).items() if pair[0] in sources}


def test_a_silent_router_is_a_gap_and_the_hops_are_known(routed: Lab) -> None:
    source = routed.names[0]
    with silent_router(routed, "spine"):
        sink = traced(routed, source)
    truth = true_from(routed, source)
    assert ways(routed, sink) == {
        pair: way and (way[0], None, way[2]) for pair, way in truth.items()
    }


def test_what_udp_does_not_reach_icmp_echo_does(routed: Lab) -> None:
    source, host = routed.racks["r1"][0], routed.racks["r2"][0]
    with listener(routed, host):
        sink = traced(routed, source)
    assert ways(routed, sink) == true_from(routed, source)


def test_a_host_that_drops_probes_is_silent_and_traces_itself(routed: Lab) -> None:
    host, mate = routed.racks["r1"]
    far = routed.racks["r2"][0]
    with mute(routed, host):
        sink = traced(routed, host, mate, far)
        through_another_port = traced(routed, far, port=33500)
    truth = true_from(routed, host, mate, far)
    assert ways(routed, sink) == {pair: way for pair, way in truth.items() if pair[1] != host}
    last = f"{truth[far, host][-1]}, hop 3, was the last"
    assert reasons(routed, sink) == {
        (mate, host): f"{host} answers no probe, nor does a router",
        (far, host): f"{host} answers no probe, {last}",
    }
    assert ways(routed, through_another_port) == true_from(routed, far)


def test_a_router_that_refuses_and_packets_that_go_in_circles_are_named(routed: Lab) -> None:
    source, (refused, circling) = routed.racks["r1"][0], routed.racks["r2"]
    addresses = routed.truth["addresses"]
    # The spine sends packets for the second host back to the rack that they came from.
    back = routed.route(circling, source)[-1]
    with (
        route(routed, "spine", "prohibit", f"{addresses[refused]}/32"),
        route(routed, "spine", f"{addresses[circling]}/32", "via", back),
    ):
        sink = traced(routed, source)
    spine = routed.route(source, refused)[1]
    assert reasons(routed, sink) == {
        (source, refused): f"{spine}, hop 2, says: administratively prohibited",
        (source, circling): f"packets go in circles: {spine} is hop 2 and hop 4",
    }
