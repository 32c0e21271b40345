"""Forests through servers: right by a replay, and as quick as theory says under contention."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from forests.instances import time_s
from plink.plans.check import check
from plink.plans.forest import Forest
from plink.plans.measures import measure
from plink.solvers.contention.network import make_network
from plink.solvers.forests.kinds import flat, ring, two_level
from plink.solvers.forests.servers import BETWEEN, central, route_by_racks, stars
from plink.solvers.forests.trees import Routes

WORKERS = 8
LINK_BYTES_S = 50e6
SIZE_BYTES = 20e6
RACKS = [0, 0, 0, 0, 1, 1, 1, 1]


def took(
    routes: Routes,
    link_bytes_s: Sequence[float],
    group_of: Sequence[int] | None = None,
    uplink_bytes_s: float | None = None,
) -> float:
    """The predicted time over that of a buffer on a worker's link."""
    uplinks = None if uplink_bytes_s is None else [uplink_bytes_s] * 2
    network = make_network(
        len(link_bytes_s),
        send_bytes_s=link_bytes_s,
        receive_bytes_s=link_bytes_s,
        group_of=group_of,
        uplink_send_bytes_s=uplinks,
        uplink_receive_bytes_s=uplinks,
    )
    order = np.arange(len(link_bytes_s))
    return time_s(routes, order, network, SIZE_BYTES) / (SIZE_BYTES / LINK_BYTES_S)


def ncc(ports: int, workers: int = WORKERS) -> float:
    links = [LINK_BYTES_S] * (workers + ports)
    return took(stars(workers, links[workers:]), links)


def colocated(workers: int = WORKERS, times: float = 1.0) -> float:
    return took(flat(np.ones(workers)), [times * LINK_BYTES_S] * workers)


def racks(uplink_bytes_s: float, between: str, ports: int = 4) -> float:
    of_ports = [0] * ports + [1] * ports
    links = [LINK_BYTES_S] * (WORKERS + 2 * ports)
    uplinks = [uplink_bytes_s] * 2
    routes = route_by_racks(RACKS, of_ports, links[WORKERS:], uplinks, between)
    return took(routes, links, RACKS + of_ports, uplink_bytes_s)


@pytest.mark.parametrize("ports", [1, 2, 3, 4, 5, 6, 8, 16])
def test_a_central_server_takes_n_over_k(ports: int) -> None:
    assert ncc(ports) == pytest.approx(max(1.0, WORKERS / ports), rel=0.04)


def test_ports_beat_all_reduce_from_five_on() -> None:
    ways = {
        "flat": colocated(),
        "ring": took(ring(range(WORKERS)), [LINK_BYTES_S] * WORKERS),
    }
    assert ncc(4) > max(ways.values())
    assert ncc(5) < min(ways.values())
    assert min(ways.values()) / ncc(8) == pytest.approx(1.75, rel=0.04)


def test_a_worker_less_is_worth_it_where_its_host_has_ports() -> None:
    """Samples a second with 7 workers and a server against 8 workers that all-reduce."""
    without_computing = (7 / ncc(8, workers=7)) / (8 / colocated(8))
    assert without_computing == pytest.approx(1.53, rel=0.04)


def test_the_same_bandwidth_at_the_workers_is_quicker() -> None:
    assert colocated(times=2.0) / ncc(8) == pytest.approx(0.875, rel=0.04)


def test_one_workers_host_is_the_slowest() -> None:
    assert took(central(WORKERS, 3), [LINK_BYTES_S] * WORKERS) == pytest.approx(7.0, rel=0.04)


@pytest.mark.parametrize("between", BETWEEN)
def test_racks_send_a_quarter_across_slow_uplinks(between: str) -> None:
    uplink = LINK_BYTES_S / 2
    links = [LINK_BYTES_S] * (WORKERS + 8)
    sharded = took(stars(WORKERS, links[WORKERS:]), links, RACKS + [0] * 4 + [1] * 4, uplink)
    assert sharded / racks(uplink, between) == pytest.approx(4.0, rel=0.06)
    two_levels = two_level(RACKS, links[:WORKERS], [uplink] * 2)
    by_workers = took(two_levels, links[:WORKERS], RACKS, uplink)
    assert by_workers / racks(uplink, between) == pytest.approx(1.0, rel=0.06)


def test_ports_that_workers_fill_have_none_to_spare_for_other_racks() -> None:
    quick = 4 * LINK_BYTES_S
    two_levels = two_level(RACKS, [LINK_BYTES_S] * WORKERS, [quick] * 2)
    by_workers = took(two_levels, [LINK_BYTES_S] * WORKERS, RACKS, quick)
    assert by_workers / racks(quick, "star") == pytest.approx(1.75 / 1.25, rel=0.04)
    assert by_workers / racks(quick, "star", ports=5) == pytest.approx(1.75, rel=0.04)


rates = st.sampled_from([1.0, 2.0, 5.0, 40.0, np.inf])


@given(st.integers(1, 6), st.lists(rates, min_size=1, max_size=5))
def test_stars_aggregate_and_load_ports_by_their_rates(workers: int, ports: list[float]) -> None:
    routes = stars(workers, ports)
    forest = Forest(*routes)
    is_server = np.arange(workers + len(ports)) >= workers
    check(forest, is_server)
    got = measure(forest, 1000.0).received_bytes[workers:]
    finite = np.isfinite(ports)
    share = np.array(ports)[finite]
    assert got.sum() == pytest.approx(1000.0 * workers)
    if finite.any():
        assert got[finite] / share == pytest.approx(np.full(len(share), (got[finite] / share)[0]))


@st.composite
def racks_of_any_size(draw: st.DrawFn) -> tuple[list[int], list[int], list[float], list[float]]:
    groups = draw(st.integers(1, 4))
    workers = [group for group in range(groups) for _ in range(draw(st.integers(1, 3)))]
    ports = [group for group in range(groups) for _ in range(draw(st.integers(1, 3)))]
    return workers, ports, [draw(rates) for _ in ports], [draw(rates) for _ in range(groups)]


@given(racks_of_any_size(), st.sampled_from(BETWEEN))
def test_any_racks_aggregate_and_send_little_across(
    drawn: tuple[list[int], list[int], list[float], list[float]], between: str
) -> None:
    workers, ports, port_rates, uplinks = drawn
    routes = route_by_racks(workers, ports, port_rates, uplinks, between)
    forest, count, groups = Forest(*routes), len(workers), len(uplinks)
    check(forest, np.arange(count + len(ports)) >= count)
    measures = measure(forest, 1000.0, group_of=[*workers, *ports])
    assert measures.cross_group_bytes == pytest.approx(2 * (groups - 1) * 1000.0)
    # Each rack's ports share what its workers send in proportion to their rates.
    parents = forest.reduce_parents
    for group in range(groups):
        own = [count + port for port, of in enumerate(ports) if of == group]
        first = workers.index(group)
        carried = np.array([forest.weights[parents[:, first] == port].sum() for port in own])
        assert carried.sum() == pytest.approx(1.0)
        known = np.array([port_rates[port - count] for port in own])
        if np.isfinite(known).all():
            assert carried == pytest.approx(known / known.sum())
