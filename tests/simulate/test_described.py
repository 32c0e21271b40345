"""Any network that a user describes: predictions keep to its links, traces to its hosts."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from plink.formats.cluster import Cluster
from plink.measure.importing.described import import_network
from plink.model.network import build_network
from plink.optimize.orders.slots import build_layout, build_peer_layout
from plink.simulate.inputs import SimulationInput, schedule_on_hosts
from plink.simulate.request import SimulationRequest
from plink.simulate.schedule import check
from plink.solvers.collectives.registry import ALGORITHMS, OTHERS
from plink.solvers.contention.time import TableTimer

EVERY = {**ALGORITHMS, **OTHERS}
RATES = st.sampled_from([None, 1e-6, 0.4, 10, 95.5, 1e5])


@st.composite
def descriptions(draw: st.DrawFn) -> str:
    """Groups of one host and more, hosts alone, rows, slots, rates from tiny to huge."""
    lines = []
    if levels := draw(st.lists(st.sampled_from([0, 0.5, 60, 5e4]), max_size=3)):
        lines.append(f"latency_us = {levels}")
    for name in ("host_gbit_s", "uplink_gbit_s"):
        if (rate := draw(RATES)) is not None:
            lines.append(f"{name} = {rate}")
    lines.append(f"slots = {draw(st.sampled_from([1, 1, 2, 3]))}")
    sizes = draw(st.lists(st.integers(1, 3), max_size=3))
    alone = draw(st.integers(0 if sizes else 1, 3))
    if alone:
        lines.append(f'hosts = "alone[1-{alone}]"')
    for number, size in enumerate(sizes):
        lines += ["[[groups]]", f'name = "g{number}"', f'hosts = "h{number}-[1-{size}]"']
        if (rate := draw(RATES)) is not None:
            lines.append(f"host_gbit_s = {rate}")
    if sizes and draw(st.booleans()):
        lines += ["[[rows]]", 'name = "r"', 'groups = ["g0"]', "uplink_gbit_s = 1"]
    return "\n".join(lines)


def bytes_between_hosts(between: np.ndarray, host_of: np.ndarray, hosts: int) -> np.ndarray:
    """(H, H) what hosts send to each other, of what ranks do."""
    found = np.zeros((hosts, hosts))
    np.add.at(found, (host_of[:, None], host_of[None, :]), between)
    np.fill_diagonal(found, 0.0)
    return found


def links_take_s(sent: np.ndarray, cluster: Cluster) -> float:
    """What the busiest link takes for its bytes."""
    network = build_network(cluster).network
    crosses = network.group_of[:, None] != network.group_of[None, :]
    takes = [sent.sum(1) / network.send_bytes_s, sent.sum(0) / network.receive_bytes_s]
    for group in range(network.groups):
        inside = network.group_of == group
        for axis, rates in ((1, network.uplink_send_bytes_s), (0, network.uplink_receive_bytes_s)):
            takes.append((sent * crosses).sum(axis)[inside].sum(keepdims=True) / rates[group])
    return float(np.concatenate(takes).max())


@given(descriptions(), st.sampled_from(sorted(EVERY)), st.sampled_from([1, 999, 65_537, 10**9]))
def test_no_time_is_less_than_links_take(text: str, name: str, size_bytes: int) -> None:
    cluster = import_network(text.encode(), "net.toml")
    layout = build_layout(cluster.hosts, None)
    ranks = build_peer_layout(EVERY[name], layout).ranks
    if EVERY[name].refusal(ranks) is not None:
        return
    table = EVERY[name].table(ranks, size_bytes)
    placement = layout.placement(range(layout.hosts))
    if EVERY[name].is_over_hosts:
        placement = np.arange(layout.hosts)
    sent = bytes_between_hosts(table.bytes_between(), placement, layout.hosts)
    time_s = TableTimer(table, build_network(cluster).network).time_s(placement)
    assert links_take_s(sent, cluster) * (1 - 1e-9) <= time_s < np.inf
    subject = SimulationInput(cluster, None, "net.toml")
    request = SimulationRequest(algorithms=(name,), size=size_bytes, search_s=0.0)
    schedule = schedule_on_hosts(subject, request)
    check(schedule)
    of_slots = layout.placement(range(layout.hosts))
    traced = bytes_between_hosts(schedule.bytes_between(), of_slots, layout.hosts)
    messages = sum(len(step.sources) for step in table.rounds)
    assert np.abs(traced - sent).sum() <= 0.5 * 16 * messages
