"""`plink bench -o FILE`: the results as JSON in a file, beside what is printed."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from click.testing import CliRunner

from bench.results import order_bench
from plink.bench import bench as bench_module
from plink.cli import cli
from plink.formats import cluster as cluster_file
from plink.formats.cluster import Cluster
from plink.formats.hosts import Host
from plink.formats.measurements import RttMeasurement


@pytest.fixture
def cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cluster file of hosts that do not exist, and a bench that took place on them."""
    counts = np.full((2, 2), 5)
    rtt = RttMeasurement(
        rtt_us={10.0: np.full((2, 2), 20.0)},
        reading=10.0,
        samples=counts,
        losses=0 * counts,
        tool="echo",
    )
    path = tmp_path / "cluster.json"
    cluster_file.write_cluster(
        str(path), Cluster([Host("a", "10.0.0.1"), Host("b", "10.0.0.2")], rtt)
    )
    outcome = order_bench([[0.5]])
    monkeypatch.setattr(bench_module, "bench", lambda _request, _progress: outcome)
    return path


def test_file_gets_the_results_and_standard_output_the_table(cluster: Path) -> None:
    file = cluster.with_name("bench.json")
    result = CliRunner().invoke(cli, ["bench", str(cluster), "--orders", "given", "-o", str(file)])
    assert result.exception is None
    assert "500 ms" in result.stdout
    assert json.loads(file.read_text("utf-8"))["rows"][0]["median_s"] == 0.5


def test_standard_output_as_the_file_gets_nothing_but_the_results(cluster: Path) -> None:
    result = CliRunner().invoke(cli, ["bench", str(cluster), "--orders", "given", "-o", "-"])
    assert result.exception is None
    assert json.loads(result.stdout)["rows"][0]["order"] == "given"


def test_file_that_cannot_be_written_is_refused_before_anything_runs(
    cluster: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bench_module, "bench", lambda _request, _progress: pytest.fail("it ran"))
    file = cluster.parent / "absent" / "bench.json"
    result = CliRunner().invoke(cli, ["bench", str(cluster), "--orders", "given", "-o", str(file)])
    assert "there is no folder" in str(result.exception)


@pytest.mark.parametrize("orders", ["given", "given, file:{}"])
def test_what_is_read_is_not_written_over(cluster: Path, orders: str) -> None:
    names = cluster.with_name("names.txt")
    names.write_text("b\na\n")
    read = names if "file" in orders else cluster
    before = read.read_bytes()
    link = cluster.with_name("link.json")
    link.symlink_to(read)
    for output in (read, link):
        arguments = ["bench", str(cluster), "--orders", orders.format(names), "-o", str(output)]
        result = CliRunner().invoke(cli, arguments)
        assert "is the output, but also an input" in str(result.exception)
        assert read.read_bytes() == before


@pytest.mark.parametrize(
    ("option", "complaint"),
    [
        (["--algo", "rabenseifner"], "gloo cannot run rabenseifner"),
        (["--correlate", "--orders", "given"], "at least 10 orders, not 1"),
        (["--plot", "{}"], "is the output, but also an input"),
    ],
)
def test_what_cannot_be_correlated_is_refused(
    cluster: Path, option: list[str], complaint: str
) -> None:
    arguments = [word.format(cluster) for word in option]
    result = CliRunner().invoke(cli, ["bench", str(cluster), *arguments])
    assert complaint in str(result.exception)


def test_plot_is_a_picture_of_every_order(cluster: Path) -> None:
    file = cluster.with_name("plot.svg")
    arguments = ["bench", str(cluster), "--orders", "given", "--plot", str(file)]
    assert CliRunner().invoke(cli, arguments).exception is None
    drawn = ElementTree.parse(file).getroot()
    titles = [title.text for title in drawn.iter("{http://www.w3.org/2000/svg}title")]
    assert titles == ["given", "given"]


@pytest.mark.parametrize(
    ("client", "option"),
    [("mpich", "--python"), ("gloo", "--mpirun"), ("gloo", "--mpicc"), ("gloo", "--remote-cache")],
)
def test_an_option_for_another_client_is_refused(cluster: Path, client: str, option: str) -> None:
    arguments = ["bench", str(cluster), "--client", client, option, "x", "--orders", "given"]
    result = CliRunner().invoke(cli, arguments)
    assert str(result.exception).startswith(f"{option} is for ")
    assert str(result.exception).endswith(f", not for --client {client}")
