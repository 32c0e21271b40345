"""`plink doctor --live` on hosts of a lab: all is well, and three things that are not."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from labkit import link_faults
from labkit.registry import ROOT_REGISTRY, Registry
from labkit.state import State
from support.lab import Lab, lab_cluster
from support.plink_command import plink, ssh_options

pytestmark = pytest.mark.lab


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    with lab_cluster(racks=2, hosts=3, host_rate="100mbit", uplink_rate="200mbit") as lab:
        yield lab


@pytest.fixture(scope="module")
def file(lab: Lab, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Round trips and groups of the healthy lab."""
    path = tmp_path_factory.mktemp("doctor") / "c.json"
    probe = ("probe", *ssh_options(lab), lab.hosts_file, "-o", path, "--count", "50")
    assert plink(*probe, "--passes", "2").code == 0
    racks = path.with_name("racks.txt")
    racks.write_text("".join(f"{rack}: {','.join(hosts)}\n" for rack, hosts in lab.racks.items()))
    grouped = json.loads(path.read_text())
    grouped["groups"] = [{"name": rack, "hosts": hosts} for rack, hosts in lab.racks.items()]
    path.write_text(json.dumps(grouped))
    return path


@pytest.fixture
def state(lab: Lab) -> State:
    return Registry(ROOT_REGISTRY).find(lab.name)


def printed_of(lab: Lab, file: Path, *options: object) -> tuple[int, dict[str, Any]]:
    done = plink("doctor", file, "--live", "--json", *ssh_options(lab), *options)
    assert done.stdout, done.stderr
    return done.code, json.loads(done.stdout)


def findings(lab: Lab, file: Path, *options: object) -> tuple[int, Sequence[dict[str, Any]]]:
    code, found = printed_of(lab, file, *options)
    assert found["not_asked"] == []
    return code, found["findings"]


def test_settings_that_differ(lab: Lab, file: Path, state: State) -> None:
    one, other = lab.racks["r1"][0], lab.racks["r2"][1]
    with ExitStack() as stack:
        stack.callback(link_faults.other_mtu(state, one, 1400))
        stack.callback(link_faults.other_congestion_control(state, other, "reno"))
        code, found = findings(lab, file, "--transfers", "0")
    assert code == 4
    named = {(each["kind"], *each["hosts"]) for each in found}
    assert {("other MTU", one), ("other congestion control", other)} <= named


def test_a_slow_host_and_what_is_kept_of_it(lab: Lab, file: Path, state: State) -> None:
    host, examined = lab.racks["r2"][0], file.with_name("examined.json")
    with ExitStack() as stack:
        stack.callback(link_faults.slow_link(state, host, 20))
        code, found = findings(lab, file, "-o", examined)
    assert code == 4
    assert (found[0]["kind"], found[0]["hosts"]) == ("slow host", [host])
    assert "20" in found[0]["says"] or "19" in found[0]["says"]
    again = plink("doctor", examined, "--json")
    assert json.loads(again.stdout)["findings"] == found


def test_rates_in_the_file_are_measured_anew(lab: Lab, file: Path, state: State) -> None:
    # The file says that all is well: 95 Mbit/s each, as it was before one of them was cut.
    healthy = {"send_gbit_s": 0.095, "receive_gbit_s": 0.095}
    data = json.loads(file.read_text())
    data["uplinks"] = {
        "tool": "uplinks",
        "options": {"duration_s": 2, "streams": 1},
        "started": "2026-01-02T03:04:05+00:00",
        "seconds": 20.0,
        "notes": [],
        "uplinks": [
            {"group": rack, "send_gbit_s": 0.19, "receive_gbit_s": 0.19} for rack in lab.racks
        ],
        "links": [{"host": name, **healthy} for name in lab.names],
    }
    stale = file.with_name("stale.json")
    stale.write_text(json.dumps(data))
    host = lab.racks["r1"][1]
    with ExitStack() as stack:
        stack.callback(link_faults.slow_link(state, host, 20))
        code, printed = printed_of(lab, stale)
    assert code == 4
    assert (printed["findings"][0]["kind"], printed["findings"][0]["hosts"]) == (
        "slow host",
        [host],
    )
    assert "hosts' links (6 hosts, measured now)" in printed["looked_at"]
    assert "round trips and losses (30 directed pairs, measured now)" in printed["looked_at"]
    # Without transfers the rates stay the file's, and are called that.
    _, dated = printed_of(lab, stale, "--transfers", "0")
    assert "hosts' links (6 hosts, from a file, 2026-01-02 03:04 UTC)" in dated["looked_at"]


def test_nothing_is_found_where_nothing_is_wrong(lab: Lab, file: Path) -> None:
    assert findings(lab, file, "--transfers", "0") == (0, [])
