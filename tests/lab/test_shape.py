"""Shapes from options and from files; what cannot be built is refused with a reason."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from labkit.errors import LabError, WrongUseError
from labkit.shape import RowShape, two_levels
from labkit.shape_file import read_shape, shape_of_document

THREE_LEVELS = """
host_rate = "1gbit"
hops = 2
row_uplink_rate = "800mbit"
row_hops = 3

[[rows]]
racks = [4, 4]

[[rows]]
racks = [3, 5, 8]
uplink_rate = "200mbit"
row_hops = 1
"""


def test_one_number_stands_for_every_rack() -> None:
    shape = two_levels(3, [4], 1_000_000, None, 2)
    assert [rack.hosts for rack in shape.racks] == [4, 4, 4]
    assert shape.host_count == 12


def test_several_numbers_are_one_a_rack() -> None:
    shape = two_levels(None, [3, 5, 8], None, None, 0)
    assert [rack.hosts for rack in shape.racks] == [3, 5, 8]


@pytest.mark.parametrize(
    ("racks", "hosts", "hops"),
    [
        *((2, [3, 5, 8], 0), (0, [4], 0), (-1, [4], 0), (257, [1], 0), (10**9, [1], 0)),
        *((4, [0], 0), (4, [-1], 0), (None, [3, 0], 0), (2, [501], 0)),
        *((4, [4], -1), (4, [4], 65)),
    ],
)
def test_refuses_what_cannot_be_built(racks: int | None, hosts: list[int], hops: int) -> None:
    with pytest.raises(WrongUseError):
        two_levels(racks, hosts, None, None, hops)


@pytest.mark.skipif(sys.version_info < (3, 11), reason="needs a TOML reader")
def test_rows_may_differ_from_what_is_common(tmp_path: Path) -> None:
    path = tmp_path / "rows.toml"
    path.write_text(THREE_LEVELS)
    shape = read_shape(path)
    assert shape.rows == (RowShape(800_000_000, 3), RowShape(800_000_000, 1))
    assert [(rack.hosts, rack.row) for rack in shape.racks] == [
        (4, 0),
        (4, 0),
        (3, 1),
        (5, 1),
        (8, 1),
    ]
    assert {rack.uplink_rate_bits for rack in shape.racks if rack.row == 0} == {400_000_000}
    assert {rack.uplink_rate_bits for rack in shape.racks if rack.row == 1} == {200_000_000}
    assert {(rack.host_rate_bits, rack.hops) for rack in shape.racks} == {(1_000_000_000, 2)}


def test_json_says_the_same(tmp_path: Path) -> None:
    path = tmp_path / "flat.json"
    path.write_text(json.dumps({"racks": [3, 5], "hops": 0, "host_rate": "none"}))
    shape = read_shape(path)
    assert [(rack.hosts, rack.hops, rack.host_rate_bits) for rack in shape.racks] == [
        (3, 0, None),
        (5, 0, None),
    ]
    assert shape.rows == ()


@pytest.mark.parametrize(
    "document",
    [
        [],
        {},
        {"racks": [4], "rows": [{"racks": [4]}]},
        {"rows": []},
        {"rows": {"racks": [4]}},
        {"rows": [4]},
        {"rows": [{}]},
        {"rows": [{"racks": [4], "rows": []}]},
        {"racks": []},
        {"racks": "4"},
        {"racks": [4.0]},
        {"racks": [True]},
        {"racks": [-4]},
        {"racks": [4], "hops": "2"},
        {"racks": [4], "host_rate": 400},
        {"racks": [4], "host_rate": "fast"},
        {"racks": [4], "speed": "400mbit"},
        {"racks": [4], "routed": "yes"},
        {"rows": [{"racks": [4], "routed": True}]},
    ],
)
def test_refuses_a_wrong_document(document: Any) -> None:
    with pytest.raises(WrongUseError):
        shape_of_document(document)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        *(("a.toml", b"racks = ["), ("a.toml", b"\xff")),
        *(("a.json", b"{"), ("a.json", b"\xff\xfe"), ("a.json", b"[" * 100_000)),
    ],
)
def test_refuses_a_broken_file_by_name(tmp_path: Path, name: str, content: bytes) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(LabError, match=name):
        read_shape(path)


def test_names_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(WrongUseError, match=r"none\.toml"):
        read_shape(tmp_path / "none.toml")


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.sampled_from(["racks", "rows"]), inner),
    )
)
def test_any_document_is_a_shape_or_refused(document: Any) -> None:
    try:
        shape = shape_of_document(document)
    except WrongUseError:
        return
    assert shape.host_count >= 1
