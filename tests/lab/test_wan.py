"""Paths between regions: what options and files say, and what the delay box is told."""

from __future__ import annotations

import contextlib
import itertools
import json
from ipaddress import IPv4Network
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from labkit.arguments import parser, shape_of
from labkit.errors import LabError, WrongUseError
from labkit.login import Login
from labkit.shape import Shape
from labkit.shape_file import shape_of_document
from labkit.state import State, from_json, to_json
from labkit.topology import place
from labkit.wan import MIN_QUEUE_BYTES, box_text, full_mesh, parse_loss, wan_path

MBIT = 1_000_000


def of_options(*options: str) -> Shape:
    return shape_of(parser().parse_args(["up", *options]))


def test_options_describe_regions_and_the_path_between_every_two() -> None:
    shape = of_options(
        *("--regions", "3x2", "--rtt-ms", "80", "--wan-rate", "100mbit", "--loss", "0.01%")
    )
    assert [rack.hosts for rack in shape.racks] == [2, 2, 2]
    assert [path.regions for path in shape.wan] == [(0, 1), (0, 2), (1, 2)]
    (path, *others) = shape.wan
    assert (path.rtt_ms, path.rate_bits, path.jitter_ms) == (80.0, 100 * MBIT, 0.0)
    assert path.loss == pytest.approx(1e-4)
    # What a round trip carries.
    assert path.queue_bytes == 100 * MBIT // 8 * 80 // 1000
    assert {other.rtt_ms for other in others} == {80.0}


def test_regions_may_have_different_numbers_of_hosts() -> None:
    assert [rack.hosts for rack in of_options("--regions", "3,5").racks] == [3, 5]


@pytest.mark.parametrize(
    "options",
    [
        *(["--regions", "1x2"], ["--regions", "2xa"], ["--regions", "x"], ["--regions", "17x1"]),
        ["--regions", "2x2", "--racks", "2"],
        ["--regions", "2x2", "--routed"],
        ["--regions", "2x2", "--loss", "100%"],
        ["--regions", "2x2", "--loss", "many"],
        ["--regions", "2x2", "--rtt-ms", "-1"],
        ["--regions", "2x2", "--rtt-ms", "5000"],
        ["--regions", "2x2", "--wan-rate", "fast"],
        ["--rtt-ms", "100"],
    ],
)
def test_options_that_cannot_be_built_are_refused(options: list[str]) -> None:
    with pytest.raises(WrongUseError):
        of_options(*options)


def test_a_path_of_a_file_may_differ() -> None:
    shape = shape_of_document(
        {
            "regions": [1, 2, 1],
            "rtt_ms": 50,
            "wan_rate": "100mbit",
            "paths": [{"between": [3, 1], "wan_rate": "30mbit", "loss": "1%"}],
        }
    )
    by_pair = {path.regions: path for path in shape.wan}
    assert by_pair[0, 2].rate_bits == 30 * MBIT
    assert by_pair[0, 2].rtt_ms == 50
    assert by_pair[0, 2].loss == pytest.approx(0.01)
    assert by_pair[0, 1].rate_bits == by_pair[1, 2].rate_bits == 100 * MBIT


@pytest.mark.parametrize(
    "change",
    [
        *({"regions": [2]}, {"regions": "2x2"}, {"regions": [True, 2]}, {"regions": [0, 2]}),
        *({"rtt_ms": "100"}, {"wan_rate": 100}, {"loss": "-1%"}, {"unknown": 1}),
        *({"paths": [3]}, {"paths": [{}]}, {"paths": [{"between": [1, 1]}]}),
        *({"paths": [{"between": [1, 3]}]}, {"paths": [{"between": [1, 2], "hops": 3}]}),
    ],
)
def test_files_that_cannot_be_built_are_refused(change: dict[str, Any]) -> None:
    with pytest.raises(WrongUseError):
        shape_of_document({"regions": [2, 2], **change})


@given(st.text(max_size=12))
def test_a_share_is_below_one_or_refused(text: str) -> None:
    with contextlib.suppress(WrongUseError):
        assert 0.0 <= parse_loss(text) < 1.0


@given(
    st.integers(2, 6),
    st.floats(0, 2000),
    st.floats(0, 100),
    st.floats(0, 0.5),
    st.one_of(st.none(), st.integers(8_000, 10**9)),
)
def test_the_box_is_told_of_both_ways_of_every_path(
    count: int, rtt_ms: float, jitter_ms: float, loss: float, rate_bits: int | None
) -> None:
    paths = full_mesh(count, rtt_ms=rtt_ms, jitter_ms=jitter_ms, loss=loss, rate_bits=rate_bits)
    ports = [f"p{number}" for number in range(count + 1)]
    lines = box_text(ports, paths, 7, bound=True).splitlines()
    assert lines[0] == "seed 7"
    assert lines[-1] == "go"
    assert [line.split()[1] for line in lines if line.startswith("port")] == ports
    told: dict[tuple[int, int], tuple[float, ...]] = {}
    for line in lines:
        word, *rest = line.split()
        if word == "path":
            told[int(rest[0]), int(rest[1])] = tuple(map(float, rest[2:]))
    # The last port is of the machine, which is near to all.
    assert set(told) == set(itertools.permutations(range(count + 1), 2))
    for (one, other), (delay_us, jitter_us, lost, rate, queue_bytes) in told.items():
        if count in {one, other}:
            assert (delay_us, jitter_us, lost, rate, queue_bytes) == (0, 0, 0, 0, 0)
            continue
        assert delay_us == pytest.approx(rtt_ms * 500, abs=0.001)
        assert jitter_us == pytest.approx(jitter_ms * 1000, abs=0.001)
        assert lost == pytest.approx(loss, abs=1e-9)
        assert rate == (rate_bits or 0)
        assert queue_bytes >= MIN_QUEUE_BYTES


def test_a_wide_area_comes_back_as_it_was_and_its_hosts_stay() -> None:
    shape = of_options("--regions", "2x2", "--loss", "0.1%", "--wan-rate", "30mbit")
    topology = place("t", shape, 1, IPv4Network("10.140.3.0/24"))
    state = State("1", Path("/tmp/t"), True, Login("root", 0, 0, "/root", False), topology)
    assert from_json(to_json(state), "x") == state
    with pytest.raises(WrongUseError, match="stays in its region"):
        topology.with_rack(topology.hosts[0].name, "r2")
    hostile = json.loads(to_json(state))
    hostile["topology"]["wan"][0]["loss"] = 2
    with pytest.raises(LabError):
        from_json(json.dumps(hostile), "x")


def test_figures_out_of_range_are_refused() -> None:
    for figures in ({"rtt_ms": 1.0, "loss": 1.0}, {"rtt_ms": 1.0, "queue_bytes": 2**31}):
        with pytest.raises(WrongUseError):
            wan_path((0, 1), **figures)  # type: ignore[arg-type]
