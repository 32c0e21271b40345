import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from formats.refusals import is_one_sentence, refusal
from plink.base.errors import WrongUseError
from plink.formats import cluster, document
from plink.formats.cluster import Cluster, Unreachable
from plink.formats.groups import HostLink, Uplink, UplinkMeasurement
from plink.formats.hosts import Group, Host
from plink.formats.limits import MAX_RTT_US
from plink.formats.measurements import (
    NO_ROUTE,
    BandwidthMeasurement,
    Failure,
    Halves,
    RouteMeasurement,
    RttMeasurement,
    readings_at,
)
from plink.formats.structs import FormatError
from support.host_names import HOST_NAMES

USER = st.text("abcdefghijklmnopqrstuvwxyz0123456789._", min_size=1, max_size=12)
TEXT = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=20)
PERCENTILES = st.sampled_from([0.0, 0.1, 10.0, 50.0, 99.0, 99.9, 100.0])


@st.composite
def measurements(draw: st.DrawFn, size: int) -> RttMeasurement:
    def matrix() -> Any:
        values = st.floats(0.0, MAX_RTT_US) | st.just(float("nan"))
        drawn = draw(arrays(np.float64, (size, size), elements=values))
        np.fill_diagonal(drawn, np.nan)
        return drawn

    def counts() -> Any:
        return draw(arrays(np.int64, (size, size), elements=st.integers(0, 1 << 50)))

    percentiles = draw(st.sets(PERCENTILES, min_size=1, max_size=3))
    reading = draw(st.sampled_from(sorted(percentiles)))
    rtt_us = {percentile: matrix() for percentile in percentiles}
    halves_us = (matrix(), matrix()) if draw(st.booleans()) else None
    if halves_us is not None:
        rtt_us[reading] = np.fmin(*halves_us)
    return RttMeasurement(
        rtt_us=rtt_us,
        reading=reading,
        passes=None if halves_us is None else counts(),
        halves_us=None if halves_us is None else Halves(*halves_us),
        samples=counts(),
        losses=counts(),
        tool=draw(TEXT),
        options=draw(st.dictionaries(TEXT, st.integers() | TEXT | st.none(), max_size=3)),
        started=draw(st.none() | TEXT),
        seconds=draw(st.integers(0, 10**6)) / 1000,
        failures=draw(st.lists(failures(), max_size=2)),
        notes=draw(st.lists(TEXT, max_size=2)),
    )


def failures() -> st.SearchStrategy[Failure]:
    return st.builds(Failure, TEXT, TEXT, st.none() | TEXT)


def unreachables() -> st.SearchStrategy[Unreachable]:
    ports, slots = st.none() | st.integers(1, 65535), st.integers(1, 1 << 16)
    position = st.none() | st.integers(0, 1 << 32)
    return st.builds(
        Unreachable,
        HOST_NAMES,
        TEXT,
        user=st.none() | USER,
        port=ports,
        slots=slots,
        position=position,
    )


@st.composite
def clusters(draw: st.DrawFn) -> Cluster:
    names = draw(st.lists(HOST_NAMES, min_size=1, max_size=5, unique=True))
    hosts = [
        Host(
            name,
            draw(HOST_NAMES),
            draw(st.none() | HOST_NAMES),
            draw(st.none() | USER),
            draw(st.none() | st.integers(1, 65535)),
            draw(st.integers(1, 1 << 16)),
        )
        for name in names
    ]
    return Cluster(
        hosts=hosts,
        rtt=draw(st.none() | measurements(len(hosts))),
        unreachable=[
            each for each in draw(st.lists(unreachables(), max_size=2)) if each.source not in names
        ],
        made_from=draw(st.none() | TEXT),
    )


def small() -> dict[str, Any]:
    matrix = np.array([[np.nan, 22.5], [21.0, np.nan]])
    rtt = RttMeasurement(
        rtt_us={10.0: matrix, 50.0: matrix + 1},
        reading=10.0,
        samples=np.array([[0, 90], [100, 0]]),
        losses=np.array([[0, 10], [0, 0]]),
        tool="echo",
        options={"count": 100},
        started="2026-01-02T03:04:05Z",
        seconds=1.5,
        failures=[Failure("a", "no answer", "b")],
        notes=["a note"],
    )
    hosts = [Host("a", "10.0.0.1", "a.example", "me", 22, 8), Host("b", "10.0.0.2")]
    whole = Cluster(
        hosts,
        rtt,
        [Unreachable("c", "refused")],
        "sha256:0",
        bandwidth=BandwidthMeasurement(
            gbit_s=matrix,
            retransmits=np.array([[np.nan, 3.0], [np.nan, np.nan]]),
            tool="iperf3",
            options={"duration_s": 1.0},
        ),
        routes=RouteMeasurement(
            hops=np.array([[np.nan, 3.0], [2.0, np.nan]]),
            route_of=np.array([[NO_ROUTE, 1], [0, NO_ROUTE]]),
            routes=[("10.0.1.1",), ("10.0.1.1", None)],
            tool="trace",
        ),
        groups=[Group("r1", ["a"]), Group("r2", ["b"])],
        uplinks=UplinkMeasurement(
            uplinks=[Uplink("r1", 1.5, None, 2.0, True)],
            links=[HostLink("b", 1.0, None)],
            tool="uplinks",
        ),
    )
    data: dict[str, Any] = json.loads(document.dump(cluster.encode_cluster(whole)))
    return data


def parse(data: object) -> Cluster:
    return cluster.parse_cluster(json.dumps(data).encode(), "c.json")


@given(clusters())
def test_what_is_written_is_read(found: Cluster) -> None:
    again = cluster.parse_cluster(document.dump(cluster.encode_cluster(found)), "c.json")
    assert again.hosts == list(found.hosts)
    assert again.unreachable == list(found.unreachable)
    assert again.made_from == found.made_from
    assert (again.rtt is None) == (found.rtt is None)
    if found.rtt is None or again.rtt is None:
        return
    assert set(again.rtt.rtt_us) == set(found.rtt.rtt_us)
    for percentile, matrix in found.rtt.rtt_us.items():
        np.testing.assert_array_equal(again.rtt.rtt_us[percentile], matrix)
    np.testing.assert_array_equal(again.rtt.readings_us, found.rtt.readings_us)
    np.testing.assert_array_equal(again.rtt.samples, found.rtt.samples)
    np.testing.assert_array_equal(again.rtt.losses, found.rtt.losses)
    assert (again.rtt.passes is None) == (found.rtt.passes is None)
    if again.rtt.passes is not None and found.rtt.passes is not None:
        np.testing.assert_array_equal(again.rtt.passes, found.rtt.passes)
        for again_us, found_us in zip(again.rtt.halves_us, found.rtt.halves_us, strict=True):
            np.testing.assert_array_equal(again_us, found_us)
    for name in ("reading", "tool", "options", "started", "seconds"):
        assert getattr(again.rtt, name) == getattr(found.rtt, name)
    assert again.rtt.failures == list(found.rtt.failures)
    assert again.rtt.notes == list(found.rtt.notes)


@pytest.mark.parametrize("name", ["c.json", "c.json.gz"])
def test_reading_gives_the_hash_of_the_content(tmp_path: Path, name: str) -> None:
    path = str(tmp_path / name)
    cluster.write_cluster(path, parse(small()))
    found = cluster.read_cluster(path)
    assert json.loads(document.dump(cluster.encode_cluster(found))) == small()
    assert found.file_hash == document.digest(document.dump(small()))


def places(value: object, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    if path:
        yield path
    items: Any = ()
    if isinstance(value, dict):
        items = value.items()
    elif isinstance(value, list):
        items = enumerate(value)
    for key, item in items:
        yield from places(item, (*path, key))


PLACES = list(places(small()))


@given(
    st.sampled_from(PLACES),
    st.sampled_from(
        [None, True, -1, 0, 1e300, 10**30, "", "x", "-x", "\x1b[2J", [], {}, [[]], [{}], {"10": 1}]
    ),
)
def test_no_value_anywhere_breaks_the_reader(place: tuple[Any, ...], value: object) -> None:
    data: Any = copy.deepcopy(small())
    target = data
    for key in place[:-1]:
        target = target[key]
    target[place[-1]] = value
    assert is_one_sentence(refusal(lambda: cluster.encode_cluster(parse(data))), "c.json")


@pytest.mark.parametrize(
    ("way", "value", "place"),
    [
        (("hosts",), [], "hosts"),
        (("hosts", 1, "name"), "a", ""),
        (("hosts", 1, "address"), "a b", "hosts[1].address"),
        (("hosts", 1, "address"), "1.2.3.999", "hosts[1].address"),
        (("hosts", 1, "address"), "-x", "hosts[1].address"),
        (("hosts", 1, "address"), "x\n", "hosts[1].address"),
        (("hosts", 1, "slots"), 0, "hosts[1].slots"),
        (("hosts", 1, "port"), 65536, "hosts[1].port"),
        (("hosts", 1, "colour"), "red", "hosts[1]"),
        (("unreachable", 0, "source"), "1.2.3.999", "unreachable[0].source"),
        (("rtt", "reading"), 90, "rtt"),
        (("rtt", "rtt_us"), {}, "rtt.rtt_us"),
        (("rtt", "rtt_us", "101"), [[0, 1], [1, 0]], None),
        (("rtt", "rtt_us", "10.0"), [[0, 1], [1, 0]], "rtt.rtt_us"),
        (("rtt", "rtt_us", "nan"), [[0, 1], [1, 0]], None),
        (("rtt", "rtt_us", "p10"), [[0, 1], [1, 0]], None),
        (("rtt", "rtt_us", "10", 0, 1), -1, "rtt.rtt_us.10[0][1]"),
        (("rtt", "rtt_us", "10", 0, 1), 1e9, "rtt.rtt_us.10[0][1]"),
        (("rtt", "rtt_us", "10", 0, 1), 10**400, "rtt.rtt_us[...]"),
        (("rtt", "rtt_us", "10", 0, 1), True, "rtt.rtt_us[...]"),
        (("rtt", "rtt_us", "10"), [[0]], "rtt.rtt_us.10"),
        (("rtt", "rtt_us", "10"), {}, "rtt.rtt_us[...]"),
        (("rtt", "samples", 0), [1], "rtt.samples"),
        (("rtt", "samples", 0, 1), -1, "rtt.samples[0][1]"),
        (("rtt", "samples", 0, 1), None, "rtt.samples[0][1]"),
        (("rtt", "samples", 0, 1), 1.0, "rtt.samples"),
        (("rtt", "samples", 0, 1), 1 << 60, "rtt.samples[0][1]"),
        (("rtt", "seconds"), -1, "rtt.seconds"),
        (("bandwidth", "gbit_s", 0, 1), -1, "bandwidth.gbit_s[0][1]"),
        (("routes", "hops", 0, 1), 2.5, "routes.hops"),
        (("routes", "hops", 0, 1), 256, "routes.hops[0][1]"),
        (("routes", "route_of", 0, 1), 2, "routes.route_of[0][1]"),
        (("routes", "routes"), [], "routes.route_of[0][1]"),
        (("routes", "routes", 0), ["a b"], "routes.routes[0][0]"),
        (("groups", 0, "hosts"), [], "groups[0].hosts"),
        (("groups", 0, "hosts"), ["c"], ""),
        (("groups", 1, "hosts"), ["a"], ""),
        (("groups", 1, "name"), "r1", ""),
        (("uplinks", "uplinks", 0, "send_gbit_s"), -1, "uplinks.uplinks[0].send_gbit_s"),
        (("uplinks", "uplinks", 0, "send_gbit_s"), 1e-320, "uplinks.uplinks[0]"),
        (("uplinks", "links", 0, "send_gbit_s"), 1e-320, "uplinks.links[0]"),
        (("uplinks", "uplinks", 0, "send_is_lower_bound"), 1, None),
        (("uplinks", "links", 0, "host"), "z", ""),
        (("uplinks", "uplinks", 0, "group"), "z", "uplinks"),
        (("uplinks", "uplinks"), [{"group": "r2", "send_gbit_s": 1.0}] * 2, "uplinks"),
        (("unreachable", 0, "source"), "b", "unreachable[0]"),
        (("file_hash",), "sha256:0", ""),
        (("way",), {"config": "a\x1b[2J"}, ""),
    ],
)
def test_what_cannot_be_is_named(way: tuple[Any, ...], value: object, place: str | None) -> None:
    data: Any = small()
    target = data
    for key in way[:-1]:
        target = target[key]
    target[way[-1]] = value
    with pytest.raises(FormatError) as caught:
        parse(data)
    assert caught.value.source == "c.json"
    assert place is None or caught.value.place == place


def test_another_version_is_refused() -> None:
    with pytest.raises(WrongUseError, match="version 99"):
        parse({**small(), "version": 99})


@pytest.mark.parametrize("place", PLACES, ids=str)
def test_a_missing_field_is_named_or_optional(place: tuple[Any, ...]) -> None:
    data: Any = small()
    target = data
    for key in place[:-1]:
        target = target[key]
    if not isinstance(target, dict) or place[-2:-1] == ("options",):
        return
    del target[place[-1]]
    if place == ("groups",):
        del data["uplinks"]
    optional = {"made_from", "unreachable", "rtt", "ssh_address", "user", "port", "slots"}
    optional |= {"started", "failures", "notes", "destination", "options", "50", "clients"}
    optional |= {"bandwidth", "groups", "hosts_gbit_s", "send_gbit_s", "receive_gbit_s", "links"}
    optional |= {"send_is_lower_bound", "receive_is_lower_bound", "seconds"}
    if place[-1] in optional or place in (("routes",), ("uplinks",)):
        parse(data)
    else:
        with pytest.raises(WrongUseError, match=r"c.json: "):
            parse(data)


@pytest.mark.parametrize(
    ("halves", "place"),
    [
        ({"odd": [[None, 5.0], [5.0, None]]}, "rtt.halves_us"),
        ({"odd": [[None, 5.0], [5.0, None]], "even": [[None] * 2] * 2}, "rtt.halves_us"),
        ([], "rtt.halves_us"),
        (None, "rtt"),
    ],
)
def test_halves_are_those_of_the_readings(halves: object, place: str) -> None:
    data = small()
    data["rtt"] |= {"passes": [[0, 2], [2, 0]], "halves_us": halves}
    with pytest.raises(FormatError) as caught:
        parse(data)
    assert caught.value.place == place


def test_a_file_without_passes_is_one_pass() -> None:
    rtt = parse(small()).rtt
    assert rtt is not None
    assert rtt.passes is None
    assert np.isnan(rtt.disagreement).all()
    passes = rtt.with_passes()
    assert passes.passes is not None
    assert passes.halves_us is not None
    np.testing.assert_array_equal(passes.passes, ~np.isnan(rtt.readings_us))
    np.testing.assert_array_equal(np.fmin(*passes.halves_us), rtt.readings_us)


def test_options_beyond_all_bounds_are_refused() -> None:
    content = document.dump(small()).replace(b'"count": 100', b'"count": 1e999')
    with pytest.raises(WrongUseError, match="options"):
        cluster.parse_cluster(content, "c.json")


def test_a_percentile_that_is_not_there() -> None:
    rtt = parse(small()).rtt
    assert rtt is not None
    assert readings_at(rtt, None, "c.json")[0] == 10.0
    np.testing.assert_array_equal(readings_at(rtt, 50.0, "c.json")[1], rtt.rtt_us[50.0])
    with pytest.raises(WrongUseError, match=r"c.json: has no round-trip times at p99") as caught:
        readings_at(rtt, 99.0, "c.json")
    assert caught.value.hint == "choose a percentile of p10, p50"
