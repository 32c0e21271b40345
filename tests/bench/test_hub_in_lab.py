"""`plink bench --client hub`: a plan with a server, run over SSH beside the engine's."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from bench.lab_hosts import wait_until_nothing_runs, write_cluster
from plink.formats.comparison import decode_comparison
from support.lab import Lab, lab_cluster
from support.plink_command import plink, plink_here, ssh_options

pytestmark = pytest.mark.lab


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    with lab_cluster(racks=1, hosts=3) as standing:
        yield standing


@pytest.fixture(scope="module")
def cluster(lab: Lab, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_cluster(lab, tmp_path_factory.mktemp("cluster") / "cluster.json")


def planned(cluster: Path, folder: Path, servers: str, kind: str = "ps") -> Path:
    path = folder / "served.json"
    line = ("plan", str(cluster), "--servers", servers, "--kind", kind, "--size", "400KB")
    assert plink_here(*line, "-o", str(path)).code == 0
    return path


def test_the_hub_and_the_engine_in_the_same_rounds(lab: Lab, cluster: Path, tmp_path: Path) -> None:
    # It stands between the workers in the file, and is none of them.
    plan = planned(cluster, tmp_path, f"{lab.names[1]}:2@1gbit")
    output = tmp_path / "found.json"
    done = plink(
        *("bench", cluster, "--client", "hub,engine", "--algo", "ring", "--plan", plan),
        *("--size", "400KB", "--rounds", "2", "--repetitions", "2", "-o", output),
        *ssh_options(lab),
    )
    assert done.code == 0, done.stderr
    found = decode_comparison(json.loads(output.read_text()), "found.json")
    workers = [lab.names[0], lab.names[2]]
    by_client = {row.client: row for row in found.rows}
    assert by_client.keys() == {"hub", "engine"}
    for row in found.rows:
        assert list(row.hosts) == workers
        assert len(row.samples_s) == 4
        assert row.median_s > 0
    assert by_client["hub"].plan == "ncc"
    assert by_client["hub"].predicted_s is not None
    text = " ".join(done.stdout.split())
    assert "hub served.json (ncc)" in text
    # Two workers and two ports: the caveat is there, whatever was measured.
    assert "2 workers, servers with 2 ports of a worker's rate" in text
    assert "all-reduce takes 0.500 of the servers' time" in text
    wait_until_nothing_runs(lab)


@pytest.mark.timeout(750)
def test_a_server_in_each_rack(tmp_path: Path) -> None:
    with lab_cluster(racks=2, hosts=3) as lab:
        cluster = write_cluster(lab, tmp_path / "cluster.json")
        rack_of = lab.truth["hosts"]
        racks = [
            [name for name in lab.names if rack_of[name] == rack]
            for rack in dict.fromkeys(rack_of[name] for name in lab.names)
        ]
        servers = ",".join(f"{rack[0]}:2@1gbit" for rack in racks)
        plan = planned(cluster, tmp_path, servers, "hub")
        output = tmp_path / "found.json"
        done = plink(
            *("bench", cluster, "--client", "hub", "--plan", plan, "--size", "400KB"),
            *("--rounds", "1", "--repetitions", "2", "-o", output),
            *ssh_options(lab),
        )
        assert done.code == 0, done.stderr
        (row,) = decode_comparison(json.loads(output.read_text()), "found.json").rows
        assert set(row.hosts) == {*racks[0][1:], *racks[1][1:]}
        assert row.plan == "hub-star"
        # Sums of all four, checked by every worker.
        assert len(row.samples_s) == 2


def test_what_the_hub_cannot_run_is_refused(lab: Lab, cluster: Path, tmp_path: Path) -> None:
    none = plink_here("bench", str(cluster), "--client", "hub")
    assert none.code == 2
    assert "--client hub needs a plan with servers" in none.stderr
    plan = planned(cluster, tmp_path, lab.names[0])
    slots = plink_here(
        *("bench", str(cluster), "--client", "hub", "--plan", str(plan), "--slots", "2")
    )
    assert slots.code == 2
    assert "its workers are not 2 on each host" in slots.stderr
