"""Clusters as objects: made of matrices, read, saved, told."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from msgspec.structs import asdict

import plink
from api.clusters import rack_cluster, rack_matrix, rack_names
from plink.formats import cluster as cluster_file
from plink.formats import document
from plink.formats.order_basis import is_made_from
from support.plink_command import plink_here


def test_a_matrix_becomes_a_cluster() -> None:
    rtt_us = rack_matrix()
    cluster = plink.MeasuredCluster.from_matrix(rack_names(), rtt_us)
    assert cluster.names == rack_names()
    assert cluster.rtt_us is not None
    np.testing.assert_array_equal(cluster.rtt_us, rtt_us)
    assert cluster.gbit_s is None
    assert repr(cluster) == (
        "<plink.MeasuredCluster: 16 hosts, 240 of 240 round-trip times; "
        "n01, n02, n03 and 13 others>"
    )


def test_its_picture_is_that_of_the_command(tmp_path: Path) -> None:
    lines = str(rack_cluster()).splitlines()
    assert lines[:2] == ["the cluster  16 hosts, 240 of 240 directions measured", "p10 by import"]
    rack_cluster().save(tmp_path / "c.json")
    shown = plink_here("show", tmp_path / "c.json", "--width", 100).stdout.splitlines()
    assert set(lines[3:19]) <= {line.rstrip() for line in shown}
    assert "plink " not in str(rack_cluster())
    assert str(plink.MeasuredCluster.from_matrix(["a", "b"])).startswith(
        "the cluster  2 hosts\nno round"
    )


def test_the_matrix_stays_the_callers() -> None:
    rtt_us = np.array([[0.0, 1.0], [2.0, 0.0]])
    cluster = plink.MeasuredCluster.from_matrix(["a", "b"], rtt_us)
    rtt_us[0, 1] = 9.0
    assert cluster.rtt_us is not None
    assert cluster.rtt_us[0, 1] == 1.0
    assert rtt_us[0, 0] == 0.0


def test_lists_bandwidths_and_groups_are_taken() -> None:
    cluster = plink.MeasuredCluster.from_matrix(
        ["a", "b", "c"],
        [[0, 10, 20], [10, 0, None], [20, float("nan"), 0]],
        gbit_s=[[0, 9.4, 1], [9.4, 0, 1], [1, 1, 0]],
        groups={"r1": ["a", "b"], "r2": ["c"]},
        slots=8,
    )
    assert cluster.gbit_s is not None
    assert cluster.gbit_s[0, 1] == 9.4
    assert [(group.name, list(group.hosts)) for group in cluster.groups] == [
        ("r1", ["a", "b"]),
        ("r2", ["c"]),
    ]
    assert [host.slots for host in cluster.hosts] == [8, 8, 8]
    assert repr(cluster) == (
        "<plink.MeasuredCluster: 3 hosts, 4 of 6 round-trip times, 6 of 6 bandwidths, 2 groups; "
        "a, b, c>"
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((["a", "b"], [[0, 1]]), "rtt_us is 1 x 2, expected 2 x 2: a row for every host"),
        ((["a", "b"], 3.0), "rtt_us is a single number, expected 2 x 2: a row for every host"),
        ((["a", "b"], [["x", "y"], ["z", "w"]]), "rtt_us must be a matrix of numbers"),
        ((["a", "b"], [[0, -1], [1, 0]]), "rtt_us[0][1] is -1, expected NaN or a number from 0"),
        ((["a", "b"], [[0, 1], [np.inf, 0]]), "rtt_us[1][0] is inf, expected NaN or a number"),
        ((["a", "a"], [[0, 1], [1, 0]]), "hosts lists host 'a' twice"),
        ((["a", "b c"], [[0, 1], [1, 0]]), "'b c' is not a host name"),
        (("ab", [[0, 1], [1, 0]]), "names must be a list of host names"),
        (([], []), "names must be a list of host names"),
    ],
)
def test_what_cannot_be_a_cluster_is_refused(arguments: tuple[Any, ...], message: str) -> None:
    with pytest.raises(plink.WrongUseError) as caught:
        plink.MeasuredCluster.from_matrix(*arguments)
    assert str(caught.value).startswith(message)


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        ({"r1": ["a", "x"]}, "group 'r1': 'x' is not one of the hosts"),
        ({"r1": ["a"], "r2": ["a"]}, "host 'a' is in two groups"),
        ({"r1": "ab"}, "group r1 must be a list of host names"),
        ({"r 1": ["a"]}, "'r 1' is not a valid name of a group"),
    ],
)
def test_groups_that_cannot_be_are_refused(groups: dict[str, Any], message: str) -> None:
    with pytest.raises(plink.WrongUseError) as caught:
        plink.MeasuredCluster.from_matrix(["a", "b"], [[0, 1], [1, 0]], groups=groups)
    assert str(caught.value).startswith(message)


def test_what_others_measured_becomes_a_cluster(tmp_path: Path) -> None:
    path = tmp_path / "matrix.csv"
    path.write_text(",a,b\na,,1.5\nb,2,\n")
    cluster = plink.MeasuredCluster.from_measurements(path, unit="ms")
    assert cluster.rtt_us is not None
    assert cluster.rtt_us[0, 1] == 1500.0
    with pytest.raises(plink.WrongUseError, match="unit is 'weeks', expected ms, ns, s, us"):
        plink.MeasuredCluster.from_measurements(path, unit="weeks")
    with pytest.raises(plink.WrongUseError, match="row 1, column 1 is empty") as caught:
        plink.MeasuredCluster.from_measurements(path)
    assert caught.value.hint == "write the unit into this cell, or give the unit us"


def test_what_is_saved_is_read_again(tmp_path: Path) -> None:
    cluster = rack_cluster()
    cluster.save(tmp_path / "cluster.json")
    again = plink.read(tmp_path / "cluster.json")
    assert isinstance(again, plink.MeasuredCluster)
    assert again.names == cluster.names
    np.testing.assert_array_equal(again.rtt_us, cluster.rtt_us)
    assert isinstance(
        plink.MeasuredCluster.read(str(tmp_path / "cluster.json")), plink.MeasuredCluster
    )


def test_an_order_belongs_to_the_file_that_its_cluster_is_saved_to(tmp_path: Path) -> None:
    cluster = rack_cluster()
    order = plink.order(cluster, time_limit_s=0.1)
    cluster.save(tmp_path / "cluster.json")
    assert is_made_from(order, plink.MeasuredCluster.read(tmp_path / "cluster.json"))


def test_an_order_belongs_to_its_cluster_however_that_is_written(tmp_path: Path) -> None:
    # Written by another program, with other spaces than plink's.
    path = tmp_path / "cluster.json"
    data = json.loads(document.dump(cluster_file.encode_cluster(rack_cluster())))
    path.write_text(json.dumps(data, indent=7))
    order = plink.order(plink.read(path), time_limit_s=0.1)
    assert is_made_from(order, rack_cluster())


def test_a_packed_file_is_written_and_read(tmp_path: Path) -> None:
    rack_cluster().save(tmp_path / "cluster.json.gz")
    assert plink.read(tmp_path / "cluster.json.gz").names == rack_names()


def test_notes_tell_what_is_missing() -> None:
    found = cluster_file.decode_cluster(
        cluster_file.encode_cluster(rack_cluster())
        | {"unreachable": [{"source": "n17", "reason": "no route to host"}]},
        "test",
    )
    cluster = plink.MeasuredCluster(**asdict(found))
    assert cluster.notes == ["n17 was unreachable"]


@pytest.mark.parametrize("function", [plink.order, plink.group, plink.plan, plink.predict])
def test_a_path_in_place_of_a_cluster_is_refused(function: Any) -> None:
    with pytest.raises(plink.WrongUseError, match=r"takes a MeasuredCluster, not str") as caught:
        function("cluster.json")
    assert caught.value.hint == "plink.read(path) returns the cluster in a file"
