"""Chunks lie evenly on ports and cores, within what is proven of the method."""

from __future__ import annotations

import itertools
import json

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchkit.networks import NETWORKS
from plink.base.errors import WrongUseError
from plink.formats.structs import convert
from plink.hub.manifest import Key, Manifest
from plink.hub.placement import Placement, Port, Sites, lpt, place

SIZES = st.lists(st.integers(1, 40), min_size=1, max_size=7)


def span(sizes: list[int], weights: list[float], where: object) -> float:
    """When the last machine ends."""
    loads = np.bincount(np.asarray(where), weights=sizes, minlength=len(weights))
    return float((loads / np.array(weights)).max())


def least_span(sizes: list[int], weights: list[float]) -> float:
    ways = itertools.product(range(len(weights)), repeat=len(sizes))
    return min(span(sizes, weights, way) for way in ways)


@given(SIZES, st.integers(1, 3))
def test_equal_machines_are_within_grahams_bound(sizes: list[int], machines: int) -> None:
    weights = [1.0] * machines
    found = span(sizes, weights, lpt(np.array(sizes), weights))
    assert found <= (4 / 3 - 1 / (3 * machines)) * least_span(sizes, weights) + 1e-9


def test_grahams_bound_is_reached() -> None:
    # Two machines and 3, 3, 2, 2, 2: 7 where 6 is possible, 7/6 = 4/3 - 1/6.
    assert span([3, 3, 2, 2, 2], [1.0, 1.0], lpt(np.array([3, 3, 2, 2, 2]), [1.0, 1.0])) == 7


@given(SIZES, st.lists(st.integers(1, 5).map(float), min_size=2, max_size=3))
def test_unequal_machines_are_within_their_bound(sizes: list[int], weights: list[float]) -> None:
    # Gonzalez, Ibarra and Sahni 1977: 2 - 2/(m + 1) for machines of any speeds.
    found = span(sizes, weights, lpt(np.array(sizes), weights))
    assert found <= (2 - 2 / (len(weights) + 1)) * least_span(sizes, weights) + 1e-9


def network(name: str) -> Manifest:
    return Manifest(tuple(Key(tensor.name, (tensor.items,)) for tensor in NETWORKS[name]()))


@pytest.mark.parametrize("name", NETWORKS)
@pytest.mark.parametrize("ports", [2, 5, 10])
def test_ports_and_cores_of_published_networks_are_even(name: str, ports: int) -> None:
    chunks = network(name).chunks()
    placement = place(chunks, Sites(((Port(2),) * ports,)))
    assert 1.0 <= placement.port_load() <= 1.02
    assert placement.core_load() <= 1.02


def test_whole_keys_are_far_from_even() -> None:
    # The first classifier of VGG-16 holds 102.8 of its 138.4 million numbers.
    sites = Sites(((Port(),) * 8,))
    placement = place(network("vgg16").chunks(by_key=True), sites)
    assert placement.port_load() == pytest.approx(8 * 102_760_448 / 138_357_544)
    assert place(network("vgg16").chunks(), sites).port_load() <= 1.001


def test_weights_and_several_servers() -> None:
    sites = Sites(((Port(1, 2.0), Port(2, 1.0)), (Port(1, 1.0),)))
    placement = place(network("resnet50").chunks(), sites)
    sizes = placement.port_bytes(4)
    assert set(sizes) == {(0, 0), (0, 1), (1, 0)}
    assert sum(sizes.values()) == network("resnet50").size_bytes * 4
    assert sizes[0, 0] / sizes[0, 1] == pytest.approx(2.0, rel=0.01)
    assert placement.port_load() <= 1.01


def test_worker_by_interface_sends_all_of_a_worker_through_its_port() -> None:
    sites = Sites(((Port(), Port(), Port()),))
    chunks = network("alexnet").chunks()
    by_worker = place(chunks, sites, interfaces="worker")
    by_key = place(chunks, sites)
    assert (by_worker.loops == by_key.loops).all()
    assert {by_worker.dialled_port(4, loop) for loop in range(3)} == {1}
    assert [by_key.dialled_port(4, loop) for loop in range(3)] == [0, 1, 2]
    # Eight workers on three ports: 3, 3 and 2.
    assert by_worker.port_load(8) == pytest.approx(3 * 3 / 8)
    assert by_key.port_load(8) <= 1.01
    assert by_worker.digest != by_key.digest


@given(
    st.lists(st.integers(1, 30_000), min_size=1, max_size=30),
    st.lists(
        st.lists(
            st.builds(Port, st.integers(1, 3), st.floats(0.5, 4.0)), min_size=1, max_size=3
        ).map(tuple),
        min_size=1,
        max_size=3,
    ),
)
def test_both_ends_find_the_same(items: list[int], servers: list[tuple[Port, ...]]) -> None:
    manifest = Manifest(tuple(Key(str(number), (size,)) for number, size in enumerate(items)))
    sites = Sites(tuple(servers))
    there = convert(json.loads(json.dumps(msgspec.to_builtins(sites))), Sites, "message")
    ours, theirs = place(manifest.chunks(), sites), place(manifest.chunks(), there)
    assert ours.digest == theirs.digest
    assert ((ours.loops >= 0) & (ours.loops < len(sites.loops))).all()
    assert ours.loop_bytes().sum() == manifest.size_bytes
    assert sum(ours.port_bytes(1).values()) == manifest.size_bytes


def test_what_cannot_be_is_refused() -> None:
    with pytest.raises(WrongUseError, match="servers is"):
        Sites(())
    with pytest.raises(WrongUseError, match="servers"):
        Sites(((),))
    with pytest.raises(WrongUseError, match="cores is 0"):
        Port(0)
    with pytest.raises(WrongUseError, match="weight is nan"):
        Port(1, float("nan"))
    for values in ({}, {"servers": []}, {"servers": [[{"cores": 0}]]}):
        with pytest.raises(WrongUseError):
            convert(values, Sites, "message")


def test_digest_shows_another_order() -> None:
    chunks = network("alexnet").chunks()
    one = place(chunks, Sites(((Port(),), (Port(2),))))
    other = place(chunks, Sites(((Port(2),), (Port(),))))
    assert isinstance(one, Placement)
    assert one.digest != other.digest
