"""`plink doctor` on files: what it prints, its exit codes, and what it refuses."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from autotune.logs import write_log
from bench.results import comparison
from doctor.clusters import Ward, drawn
from plink.autotune.log.records import Start, parse
from plink.base.replacing import replace
from plink.doctor.diagnosis import diagnose
from plink.doctor.evidence import Evidence
from plink.formats import cluster as cluster_file
from plink.formats import document
from plink.formats.cluster import Cluster
from plink.formats.structs import encode
from support.plink_command import plink_here

NCCL = """\
# nThread 1 nGpus 1 minBytes 8 maxBytes 8 step: 2(factor) warmup iters: 5 iters: 20
# Using devices
#  Rank  0 Group  0 Pid      1 on {} device  0 [0x00] GPU
#  Rank  1 Group  0 Pid      2 on {} device  0 [0x00] GPU
     1048576        262144     float     sum      -1    100.0   10.49   {:.2f}      0    100.0   \
10.49   10.49      0
# Out of bounds values : 0 OK
# Avg bus bandwidth    : 10.49
"""


def write(folder: Path, cluster: Cluster, name: str = "c.json") -> Path:
    path = folder / name
    cluster_file.write_cluster(str(path), cluster)
    return path


def ill() -> Ward:
    ward = drawn(3)
    ward.send[1] = ward.receive[1] = 0.094
    ward.set(1, speed_mbit=100)
    return ward


def test_a_finding_in_words_with_what_it_explains(tmp_path: Path) -> None:
    done = plink_here("doctor", write(tmp_path, ill().cluster()))
    assert done.code == 4
    said = " ".join(done.stdout.split())
    assert said.startswith("1 finding 1. n01 says that its NIC runs at 100 Mbit/s")
    assert "(certain)" in said
    assert "also: n01 sends 9" in said
    assert "try: look at the cable" in said
    assert "not looked at: bandwidths of pairs; an earlier file" in said


def test_silence_where_all_is_well_names_what_was_not_looked_at(tmp_path: Path) -> None:
    cluster = replace(drawn(3).cluster(), conditions=None)
    done = plink_here("doctor", write(tmp_path, cluster))
    assert done.code == 0
    assert done.stdout.startswith("nothing found")
    assert "settings, processors and clocks" in done.stdout.split("not looked at")[1]
    assert "--live" in done.stderr


def test_json_has_every_member(tmp_path: Path) -> None:
    done = plink_here("doctor", write(tmp_path, ill().cluster()), "--json")
    (finding,) = json.loads(done.stdout)["findings"]
    assert (finding["kind"], finding["hosts"]) == ("NIC below its speed", ["n01"])
    assert finding["probability"] > 0.99
    assert finding["cost"] == pytest.approx(10.0, rel=0.1)
    assert set(finding) == {
        *("kind", "hosts", "group", "says", "probability", "certainty", "cost", "evidence"),
        "advice",
    }


def test_what_hosts_said_is_kept_in_the_file(tmp_path: Path) -> None:
    cluster = ill().cluster()
    again = cluster_file.read_cluster(str(write(tmp_path, cluster, "c.npz")))
    assert again.conditions is not None
    assert cluster.conditions is not None
    assert list(again.conditions.hosts) == list(cluster.conditions.hosts)
    assert again.uplinks is not None
    assert cluster.uplinks is not None
    assert list(again.uplinks.uplinks) == list(cluster.uplinks.uplinks)
    assert [each.says for each in diagnose(Evidence(again))] == [
        each.says for each in diagnose(Evidence(cluster))
    ]


def test_an_earlier_file(tmp_path: Path) -> None:
    before, now = drawn(7), drawn(7)
    now.up = now.down = now.up * np.where(np.arange(len(now.racks)) == 1, 0.4, 1.0)
    files = (
        write(tmp_path, now.cluster(), "now.json"),
        "--before",
        write(tmp_path, before.cluster(), "then.json"),
    )
    done = plink_here("doctor", *files)
    assert done.code == 4
    assert "in the earlier file" in " ".join(done.stdout.split())


def test_a_log_of_nccl_tests(tmp_path: Path) -> None:
    names = [f"h{index}" for index in range(6)]
    runs = [
        NCCL.format(one, other, 2.0 if "h2" in (one, other) else 11.0)
        for place, one in enumerate(names)
        for other in names[place + 1 :]
    ]
    path = tmp_path / "nccl.log"
    path.write_text("".join(runs))
    done = plink_here("doctor", path)
    assert done.code == 4, done.stderr
    assert "1. h2 sends 16.0 Gbit/s and receives 16.0 Gbit/s" in " ".join(done.stdout.split())


def test_a_tuned_job_that_became_slower(tmp_path: Path) -> None:
    path = tmp_path / "tuned.log"
    write_log(path)
    # Only the part that ends while the host is throttled.
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:20]))
    start, _ = parse(path.read_bytes(), "log")
    assert isinstance(start, Start)
    done = plink_here("doctor", path)
    assert done.code == 4, done.stdout
    assert "times as long as before" in " ".join(done.stdout.split())
    path.write_bytes(b"".join(lines[:10]))
    assert plink_here("doctor", path).code == 0


def test_two_comparisons(tmp_path: Path) -> None:
    then = comparison(None)
    steady = [
        replace(row, samples_s=[share * row.median_s for share in (0.98, 1.0, 1.0, 1.02, 1.01)])
        for row in then.rows
    ]
    then = replace(then, rows=steady)
    slower = [
        replace(row, median_s=2 * row.median_s, samples_s=[2 * each for each in row.samples_s])
        for row in steady
    ]
    paths = []
    for name, found in (("then", then), ("now", replace(then, rows=slower))):
        paths.append(tmp_path / f"{name}.json")
        document.write_bytes(str(paths[-1]), document.dump(encode(found)))
    done = plink_here("doctor", paths[1], "--before", paths[0])
    assert done.code == 4
    assert "2.00 times as long as in the earlier comparison" in " ".join(done.stdout.split())
    assert plink_here("doctor", paths[0], "--before", paths[0]).code == 0


def test_refusals(tmp_path: Path) -> None:
    file = write(tmp_path, drawn(1).cluster())
    log = tmp_path / "tuned.log"
    write_log(log)
    for words, said in (
        ((file, file), "is a second file of the kind cluster"),
        ((file, "--before", log), "is of another kind"),
        ((log, "--before", log), "has no earlier file to compare with"),
        ((log, "--live"), "--live needs a cluster file"),
        ((file, "-o", "x.json"), "needs --live"),
        ((file, "--listen", "127.0.0.1:0", "--secret-file", "s"), "needs --live"),
        ((file, "--live", "--json", "-o", "-"), "both write to standard output"),
    ):
        done = plink_here("doctor", *words)
        assert done.code == 2, words
        assert said in done.stderr, words
