"""What orders say of hosts that limit the job, and what they gain without these."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import numpy as np
import pytest

import plink
from outliers.networks import Drawn, draw
from plink.base.replacing import replace
from plink.cli import run
from plink.formats import cluster as cluster_file
from plink.formats.cluster import Cluster
from plink.formats.hosts import Host
from plink.model.outliers import outliers
from plink.optimize.leaving_out import find_limiting
from plink.optimize.orders.ordering import find_order
from plink.optimize.orders.request import OrderRequest
from plink.show.advice import advise_leaving_out

FAST = OrderRequest(time_limit_s=0.3)


@pytest.fixture
def slow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Drawn:
    """A cluster of 16 hosts in c.json, one of which is slow."""
    monkeypatch.chdir(tmp_path)
    drawn = next(
        each
        for each in (draw(seed, most=6, odd="slow") for seed in range(100))
        if len(each.cluster.hosts) == 16
    )
    cluster_file.write_cluster("c.json", drawn.cluster)
    return drawn


def name_of(drawn: Drawn) -> str:
    assert drawn.odd is not None
    return drawn.cluster.names[drawn.odd]


def test_the_slow_host_and_the_gain_without_it_are_said(slow: Drawn) -> None:
    order = find_order(slow.cluster, FAST)
    found = find_limiting(slow.cluster, order)
    left_out = found.leaving_out
    assert left_out is not None
    assert (list(left_out.hosts), left_out.ranks) == ([name_of(slow)], 15)
    assert left_out.is_time
    assert left_out.gain > 0.4
    assert left_out.without_us is not None
    # A ring of N ranks takes 2 (N - 1) / N of the buffer over its slowest link.
    assert left_out.with_us / left_out.without_us > 1.5
    lines = [each.why for each in advise_leaving_out(found, order, "c.json")]
    assert lines[0].startswith(f"{name_of(slow)} is slow")
    assert (
        f"predicted without {name_of(slow)}, on 15 ranks instead of 16: ring of 100 MB" in lines[1]
    )


def test_the_command_that_is_named_leaves_out_that_host(
    slow: Drawn, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["order", "c.json", "--time-limit", "0.5"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    command = said.partition("to leave out as many: plink ")[2].split()
    assert command[:2] == ["order", "c.json"]
    assert command[2:] == ["--algo", "ring", "--ranks", "15", "--objective", "contention"]
    # Its search ends long before that.
    assert run([*command, "--time-limit", "10", "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert data["unused"] == [name_of(slow)]
    assert data["outliers"] == []
    assert data["leaving_out"] is None


def test_json_has_names_and_figures(slow: Drawn, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["order", "c.json", "--time-limit", "0.3", "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert {each["host"] for each in data["outliers"]} == {name_of(slow)}
    assert data["leaving_out"]["hosts"] == [name_of(slow)]
    assert data["leaving_out"]["gain"] > 0.4
    assert run(["show", "c.json", "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert shown["outliers"] == data["outliers"]


def test_show_names_the_slow_host_at_the_top(
    slow: Drawn, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["show", "c.json"]) == 0
    top = " ".join(capsys.readouterr().out.split("p10 by")[0].split())
    assert f"outliers {name_of(slow)} is slow: it sends " in top


def test_where_nothing_stands_out_nothing_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    cluster_file.write_cluster("c.json", draw(3, most=5).cluster)
    assert run(["show", "c.json"]) == 0
    assert run(["order", "c.json", "--time-limit", "0.3"]) == 0
    assert "outliers" not in capsys.readouterr().out


def test_an_algorithm_that_does_not_run_on_fewer_is_named(slow: Drawn) -> None:
    order = find_order(slow.cluster, replace(FAST, algorithm="halving-doubling"))
    found = find_limiting(slow.cluster, order)
    assert found.leaving_out is not None
    assert found.leaving_out.without_us is None
    assert found.leaving_out.gain == 0.0
    said = advise_leaving_out(found, order, "c.json")[1].why
    assert said == f"without {name_of(slow)}: halving-doubling does not run on 15 ranks"


def test_a_far_host_is_priced_by_latency_where_no_rate_is_known() -> None:
    drawn = draw(11, most=6, odd="far")
    bare = replace(drawn.cluster, bandwidth=None)
    order = find_order(bare, FAST)
    found = find_limiting(bare, order)
    assert found.leaving_out is not None
    assert not found.leaving_out.is_time
    assert found.leaving_out.is_worth_it
    said = advise_leaving_out(found, order, "c.json")[1].why
    assert "instead of" in said
    assert "the sum of ring's latencies is " in said


def test_the_library_has_both(slow: Drawn) -> None:
    cluster = plink.read("c.json")
    assert {each.host for each in cluster.outliers} == {name_of(slow)}
    order = plink.order(cluster, time_limit_s=0.3)
    assert order.limiting is not None
    assert order.limiting.leaving_out is not None
    assert order.limiting.leaving_out.hosts == [name_of(slow)]


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (["--slots", "2"], {"--slots": "2", "--ranks": "30"}),
        (["--objective", "contention", "--size", "1MB"], {"--size": "1000000"}),
        (["--objective", "contention", "--algo", "halving-doubling", "--slots", "2"], None),
    ],
)
def test_the_command_has_what_the_order_was_asked_for(
    slow: Drawn, asked: list[str], said: dict[str, str] | None, capsys: pytest.CaptureFixture[str]
) -> None:
    cluster_file.write_cluster("my c.json", slow.cluster)
    assert run(["order", "my c.json", *asked, "--time-limit", "0.5"]) == 0
    printed = " ".join(capsys.readouterr().out.split())
    _, is_there, command = printed.partition("to leave out as many: plink ")
    assert bool(is_there) == (said is not None)
    if said is None:
        return
    words = shlex.split(command)
    assert words[:2] == ["order", "my c.json"]
    for option, value in said.items():
        assert words[words.index(option) + 1] == value
    assert run([*words, "--time-limit", "5", "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert data["unused"] == [name_of(slow)]


def test_of_thousands_of_hosts_nothing_is_looked_for(slow: Drawn) -> None:
    order = find_order(slow.cluster, FAST)
    hosts = [Host(f"h{number}", "10.0.0.1") for number in range(2049)]
    gbit_s = np.full((len(hosts), len(hosts)), 10.0)
    gbit_s[7] = gbit_s[:, 7] = 1.0
    np.fill_diagonal(gbit_s, np.nan)
    assert slow.cluster.bandwidth is not None
    bandwidth = replace(slow.cluster.bandwidth, retransmits=gbit_s)
    large = Cluster(hosts, bandwidth=replace(bandwidth, gbit_s=gbit_s))
    assert {each.host for each in outliers(large)} == {"h7"}
    assert find_limiting(large, order).outliers == ()
