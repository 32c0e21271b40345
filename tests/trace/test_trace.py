"""`plink probe --tool trace` in labs whose true paths are known."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from plink.formats import cluster as cluster_file
from support.fake_python import fake_python
from support.lab import Lab, lab_cluster
from support.plink_command import plink_here, read_json, ssh_options
from support.trace import found, measured, trace, true_ways
from support.trace_hosts import HEALTHY

pytestmark = pytest.mark.lab


def test_all_routes_of_rows_and_unequal_racks_are_the_true_ones(tmp_path: Path) -> None:
    rows = [
        {"racks": [1, 2], "hops": 1},
        {"racks": [1], "hops": 0, "row_hops": 2},
    ]
    shape = tmp_path / "rows.json"
    shape.write_text(json.dumps({"routed": True, "row_hops": 0, "rows": rows}))
    out = tmp_path / "c.json"
    with lab_cluster(topology=shape) as lab:
        done = trace(lab, out)
        assert done.code == 0, done.stderr
        assert "4 hosts, 12 of 12 directed pairs, trace x 3" in done.stderr
        truth = true_ways(lab)
        assert found(out) == truth
        assert {len(way) for way in truth.values()} == {0, 5, 8}
        _, routes = measured(out)
        # One for every two racks and direction, and the one without a router.
        assert len(routes.routes) == 3 * 2 + 1


def test_hosts_of_bridged_racks_are_one_hop_apart(tmp_path: Path) -> None:
    out = tmp_path / "c.json"
    with lab_cluster(racks=2, hosts=1, hops=2) as lab:
        assert trace(lab, out).code == 0
        assert set(found(out).values()) == {()}


def test_routes_join_what_a_file_holds_and_only_what_is_missing_is_traced(
    routed: Lab, tmp_path: Path
) -> None:
    out = tmp_path / "c.json"
    options = (*ssh_options(routed), "--count", 5, "--passes", 1)
    assert plink_here("probe", routed.hosts_file, *options, "-o", out).code == 0
    before = cluster_file.read_cluster(str(out))
    home = tmp_path / "home"
    home.mkdir()
    at_home = dict.fromkeys(routed.names, f"export HOME={home}; {HEALTHY}")
    python = fake_python(tmp_path / "python", at_home)
    done = trace(routed, out, "--resume", out, python=python)
    assert done.code == 0, done.stderr
    # Neither scapy's cache nor anything of ours.
    assert list(home.iterdir()) == []
    after = cluster_file.read_cluster(str(out))
    assert after.rtt is not None
    assert before.rtt is not None
    assert np.array_equal(after.rtt.readings_us, before.rtt.readings_us, equal_nan=True)
    assert found(out) == true_ways(routed)
    data = read_json(out)
    for name in ("hops", "route_of"):
        data["routes"][name][0][1] = None
    # What is not missing is kept as it stands, true or not.
    data["routes"]["hops"][1][0] = 9
    out.write_text(json.dumps(data))
    assert trace(routed, out, "--resume", out).code == 0
    _, routes = measured(out)
    names = routed.names
    assert routes.hops[0, 1] == len(routed.route(names[0], names[1])) + 1
    assert routes.hops[1, 0] == 9


def test_what_is_too_far_is_named(routed: Lab, tmp_path: Path) -> None:
    out = tmp_path / "c.json"
    done = trace(routed, out, "--max-hops", "3", "--count", "1", "--timeout", "0.3")
    assert done.code == 3
    assert set(found(out).values()) == {()}
    assert "answers no probe, " in done.stderr
    assert ", hop 3, was the last" in done.stderr
