"""Where bandwidths and uplinks show up: `plink show`, `plink export`, and not in `plink order`."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from plink.base.replacing import replace
from plink.base.text import bandwidth_text
from plink.formats import cluster as cluster_file
from plink.formats.cluster import Cluster
from plink.formats.groups import Uplink, UplinkMeasurement
from plink.formats.hosts import Group, Host
from plink.formats.measurements import BandwidthMeasurement, Failure
from plink.show.facts import uplink_lines
from plink.show.summary import oversubscription
from support.plink_command import plink_here

NAN = float("nan")
BANDWIDTH = BandwidthMeasurement(
    gbit_s=np.array([[NAN, 9.41, 0.382], [9.4, NAN, NAN], [0.0956, 0.381, NAN]]),
    retransmits=np.full((3, 3), 0.0),
    tool="iperf3",
    options={"duration_s": 1, "congestion": None},
    failures=[Failure("b", "no data arrived", destination="c")],
)
UPLINKS = UplinkMeasurement(
    uplinks=[
        Uplink("r1", 0.382, 0.191, 1.528),
        Uplink("r2", 9.5, None, 9.4, send_is_lower_bound=True),
        Uplink("r3", None, 2.0),
    ],
    tool="uplinks",
)
CLUSTER = Cluster(
    [Host(name, name) for name in "abc"],
    bandwidth=BANDWIDTH,
    groups=[Group("r1", ["a"]), Group("r2", ["b"]), Group("r3", ["c"])],
    uplinks=UPLINKS,
)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    file = tmp_path / "c.json"
    cluster_file.write_cluster(str(file), CLUSTER)
    return file


def test_the_table() -> None:
    assert uplink_lines(CLUSTER) == [
        "group  hosts          sends     receives  hosts' links  oversubscribed",
        "r1         1     382 Mbit/s   191 Mbit/s   1.53 Gbit/s           8.0:1",
        "r2         1  ≥ 9.50 Gbit/s            -   9.40 Gbit/s         ≤ 1.0:1",
        "r3         1              -  2.00 Gbit/s             -               -",
        "≥: at least; something else, as the other groups' links, may be the limit",
    ]
    assert uplink_lines(replace(CLUSTER, uplinks=None)) == []


def test_oversubscription_is_of_the_worse_direction_and_never_below_one() -> None:
    assert oversubscription(Uplink("g", 2.0, 1.0, 4.0)) == 4.0
    assert oversubscription(Uplink("g", 2.0, 2.0, 1.9)) == 1.0
    assert oversubscription(Uplink("g", 2.0, 2.0)) is None
    assert oversubscription(Uplink("g", 0.0, None, 1.0)) is None


@pytest.mark.parametrize(
    ("gbit_s", "text"),
    [
        (0.0, "0.00 Mbit/s"),
        (0.0956, "95.6 Mbit/s"),
        (0.3826, "383 Mbit/s"),
        (0.99949, "999 Mbit/s"),
        (0.9996, "1.00 Gbit/s"),
        (94.97, "95.0 Gbit/s"),
        (99.96, "100 Gbit/s"),
    ],
)
def test_bandwidths_as_people_read_them(gbit_s: float, text: str) -> None:
    assert bandwidth_text(gbit_s) == text


def test_the_page_has_both(path: Path) -> None:
    done = plink_here("show", path, "--width", "100")
    assert done.code == 0, done.stderr
    assert "no round-trip times in this file" in done.stdout
    assert "95.6 Mbit/s to 9.41 Gbit/s, median 382 Mbit/s" in done.stdout
    assert "5 of 6 directions measured" in done.stdout
    assert "95.6 Mbit/s c → a" in done.stdout
    assert "no data arrived" in done.stdout
    assert "1.53 Gbit/s           8.0:1" in done.stdout


def test_the_statistics_have_both(path: Path) -> None:
    data = json.loads(plink_here("show", "--json", path).stdout)
    assert data["bandwidth"]["measured"] == 5
    assert data["bandwidth"]["median_gbit_s"] == 0.382
    assert data["uplinks"][0]["oversubscription"] == pytest.approx(8.0)


def test_the_matrix_is_exported_as_it_is(path: Path) -> None:
    done = plink_here("export", path, "--quantity", "bandwidth")
    assert done.stdout == "Gbit/s,a,b,c\na,0,9.41,0.382\nb,9.4,0,\nc,0.0956,0.381,0\n"
    assert plink_here("export", path, "--quantity", "bandwidth", "--unit", "ms").code == 2
    refused = plink_here("import", "-", "--unit", "us", text=done.stdout)
    assert refused.code == 2
    assert "error: standard input: has bandwidths in Gbit/s" in refused.stderr
    refused = plink_here("export", path)
    assert refused.code == 2
    assert "holds no round-trip times" in refused.stderr


def test_there_is_no_bandwidth_to_export(tmp_path: Path) -> None:
    file = tmp_path / "c.json"
    cluster_file.write_cluster(str(file), Cluster([Host("a", "a"), Host("b", "b")]))
    done = plink_here("export", file, "--quantity", "bandwidth")
    assert done.code == 2
    assert done.stderr == (
        f"error: {file}: holds no bandwidths\n"
        f"hint: plink probe --resume {file} --tool iperf3 measures them\n"
    )
    done = plink_here("export", "-", "--quantity", "bandwidth", text=file.read_text())
    assert "hint: plink probe --resume FILE --tool iperf3 measures them\n" in done.stderr


def test_an_order_by_latency_needs_round_trip_times(path: Path, tmp_path: Path) -> None:
    order = ("order", path, "--algo", "ring", "-o", tmp_path / "o.json")
    assert plink_here(*order).code == 0
    done = plink_here(*order, "--objective", "latency")
    assert done.code == 2
    assert "holds no round-trip times" in done.stderr
