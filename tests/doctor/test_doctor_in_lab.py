"""`plink doctor --live` on hosts of a lab: all is well, and three things that are not."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from labkit import link_faults
from labkit.registry import ROOT_REGISTRY, Registry
from labkit.state import State
from support.lab import Lab, lab_cluster
from support.plink_command import plink_here, ssh_options

pytestmark = pytest.mark.lab


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    with lab_cluster(racks=2, hosts=2, hops=0, host_rate="100mbit", uplink_rate="200mbit") as lab:
        yield lab


@pytest.fixture(scope="module")
def file(lab: Lab, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Round trips and groups of the healthy lab, and rates: 95 Mbit/s each in both directions."""
    path = tmp_path_factory.mktemp("doctor") / "c.json"
    probe = ("probe", *ssh_options(lab), lab.hosts_file, "-o", path, "--count", 50)
    assert plink_here(*probe).code == 0
    healthy = {"send_gbit_s": 0.095, "receive_gbit_s": 0.095}
    data = json.loads(path.read_text())
    data["groups"] = [{"name": rack, "hosts": hosts} for rack, hosts in lab.racks.items()]
    data["uplinks"] = {
        "tool": "uplinks",
        "options": {"duration_s": 1, "streams": 1},
        "started": "2026-01-02T03:04:05+00:00",
        "seconds": 20.0,
        "notes": [],
        "uplinks": [
            {"group": rack, "send_gbit_s": 0.19, "receive_gbit_s": 0.19} for rack in lab.racks
        ],
        "links": [{"host": name, **healthy} for name in lab.names],
    }
    path.write_text(json.dumps(data))
    return path


@pytest.fixture
def state(lab: Lab) -> State:
    return Registry(ROOT_REGISTRY).find(lab.name)


def printed_of(lab: Lab, file: Path, *options: object) -> tuple[int, dict[str, Any]]:
    done = plink_here("doctor", file, "--live", "--json", *ssh_options(lab), *options)
    assert done.stdout, done.stderr
    return done.code, json.loads(done.stdout)


def test_settings_that_differ(lab: Lab, file: Path, state: State) -> None:
    one, other = lab.racks["r1"][0], lab.racks["r2"][1]
    with ExitStack() as stack:
        stack.callback(link_faults.other_mtu(state, one, 1400))
        stack.callback(link_faults.other_congestion_control(state, other, "reno"))
        code, printed = printed_of(lab, file, "--transfers", "0")
    assert code == 4
    assert printed["not_asked"] == []
    named = {(each["kind"], *each["hosts"]) for each in printed["findings"]}
    assert {("other MTU", one), ("other congestion control", other)} <= named


def test_rates_in_the_file_are_measured_anew_and_kept_with_the_slow_host(
    lab: Lab, file: Path, state: State
) -> None:
    host, examined = lab.racks["r1"][1], file.with_name("examined.json")
    with ExitStack() as stack:
        stack.callback(link_faults.slow_link(state, host, 20))
        code, printed = printed_of(lab, file, "-o", examined)
    assert code == 4
    # Other work may slow another host's transfers in one direction, in which nothing is said then.
    (slow,) = [
        each
        for each in printed["findings"]
        if each["hosts"] == [host] and each["kind"] in ("slow host", "host slow one way")
    ]
    rate = re.search(r"([\d.]+) Mbit/s", slow["says"])
    assert rate is not None, slow["says"]
    assert 10.0 <= float(rate[1]) <= 25.0
    assert "hosts' links (4 hosts, measured now)" in printed["looked_at"]
    assert "round trips and losses (12 directed pairs, measured now)" in printed["looked_at"]
    again = plink_here("doctor", examined, "--json")
    assert json.loads(again.stdout)["findings"] == printed["findings"]


def test_nothing_is_found_where_nothing_is_wrong(lab: Lab, file: Path) -> None:
    code, printed = printed_of(lab, file, "--transfers", "0")
    assert (code, printed["findings"], printed["not_asked"]) == (0, [], [])
    # Without transfers the rates stay the file's, and are called that.
    assert "hosts' links (4 hosts, from a file, 2026-01-02 03:04 UTC)" in printed["looked_at"]
