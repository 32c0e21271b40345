"""Several files, or a folder of them, read as one."""

from __future__ import annotations

from pathlib import Path

import pytest

from plink import MeasuredCluster
from plink.formats import cluster as cluster_file
from support.plink_command import plink_here

OSU = "# pair: {0} {1}\n# OSU MPI Latency Test v7\n1  {2}\n"
BANDWIDTH = "source,destination,bandwidth_Gbps\n{0},{1},{2}\n"


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    folder = tmp_path / "logs"
    folder.mkdir()
    (folder / "1.log").write_text(OSU.format("a", "b", 1.5))
    (folder / "2.log").write_text(OSU.format("b", "c", 2.5))
    (folder / "3.csv").write_text(BANDWIDTH.format("a", "d", 9.4))
    return folder


def test_logs_and_lists_are_one_cluster(logs: Path, tmp_path: Path) -> None:
    out = tmp_path / "c.json"
    for given in (sorted(logs.iterdir()), [logs], [logs, logs / "1.log"]):
        done = plink_here("import", *given, "-o", out)
        assert done.code == 0, done.stderr
        found = cluster_file.read_cluster(str(out))
        assert found.names == ["a", "b", "c", "d"]
        assert found.rtt is not None
        assert found.bandwidth is not None
        assert (found.rtt.readings_us[0, 1], found.rtt.readings_us[1, 2]) == (3.0, 5.0)
        assert found.bandwidth.gbit_s[0, 3] == 9.4
        assert (found.rtt.tool, found.bandwidth.tool) == ("osu", "import")
    of_api = MeasuredCluster.from_measurements([logs / "1.log", logs / "2.log"])
    assert of_api.names == ["a", "b", "c"]


def test_rows_of_a_pair_in_several_files_are_samples(tmp_path: Path) -> None:
    paths = []
    for number, value in enumerate((1, 2, 3)):
        paths.append(tmp_path / f"day{number}.csv")
        paths[-1].write_text(f"source,destination,rtt_ms\na,b,{value}\n")
    found = MeasuredCluster.from_measurements(paths, percentile=50.0)
    assert found.rtt is not None
    assert (found.rtt.readings_us[0, 1], found.rtt.samples[0, 1]) == (2000.0, 3)


def test_files_without_a_measurement_are_named_and_left_out(logs: Path, tmp_path: Path) -> None:
    for number in range(7):
        (logs / f"note{number}.txt").write_text("nothing\n")
    out = tmp_path / "c.json"
    done = plink_here("import", logs, "-o", out)
    assert done.code == 3
    assert "left out 7 files" in done.stderr
    assert done.stderr.count("note6.txt") == 0
    assert cluster_file.read_cluster(str(out)).names == ["a", "b", "c", "d"]


def test_many_failed_pairs_are_three_lines_and_a_count(tmp_path: Path) -> None:
    rows = "".join(f"a,h{number},N/A\n" for number in range(20))
    path = tmp_path / "l.csv"
    path.write_text(f"source,destination,gbit_s\na,b,9\n{rows}")
    done = plink_here("import", path, "-o", tmp_path / "c.json")
    assert done.code == 3
    assert done.stderr.count("has no value") == 3
    assert "and 17 more missing pairs" in done.stderr
    found = cluster_file.read_cluster(str(tmp_path / "c.json")).bandwidth
    assert found is not None
    assert len(found.failures) == 20


@pytest.mark.parametrize("kind", ["matrix", "cluster", "nothing", "empty logs", "empty folder"])
def test_what_cannot_be_read_as_one_is_refused(kind: str, tmp_path: Path) -> None:
    one, other = tmp_path / "one.csv", tmp_path / "other.csv"
    if kind == "matrix":
        for path in (one, other):
            path.write_text("us,a,b\na,0,5\nb,5,0\n")
        done = plink_here("import", one, other, "-o", tmp_path / "c.json")
        assert "import a matrix alone" in done.stderr
    elif kind == "cluster":
        one.write_text("us,a,b\na,0,5\nb,5,0\n")
        assert plink_here("import", one, "-o", tmp_path / "c.json").code == 0
        done = plink_here("import", tmp_path / "c.json", one, "-o", tmp_path / "d.json")
        assert "cannot be imported with other files" in done.stderr
    elif kind in ("nothing", "empty logs"):
        for path in (one, other):
            path.write_text("hello\n" if kind == "nothing" else "# OSU MPI of some version\n")
        done = plink_here("import", one, other, "-o", tmp_path / "c.json")
    else:
        (tmp_path / "logs").mkdir()
        done = plink_here("import", tmp_path / "logs", "-o", tmp_path / "c.json")
        assert "folder has no files" in done.stderr
    assert done.code == 2


def test_the_output_is_none_of_the_inputs(logs: Path) -> None:
    done = plink_here("import", logs, "-o", logs / "2.log")
    assert done.code == 2
    assert "is the output, but also an input" in done.stderr
