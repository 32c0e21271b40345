"""What `plink order` says beside its table."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from ordering.clusters import cluster_of, racks
from plink.base.replacing import replace
from plink.cli import run
from plink.formats import cluster
from plink.formats import order as order_file
from plink.formats.cluster import Cluster, Unreachable
from plink.formats.hosts import Host
from plink.formats.measurements import Failure
from plink.optimize.orders.quality import confirmation, doubt

SPLIT = 16


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    cluster.write_cluster("c.json", racks([4, 4, 4, 4])[0])
    return tmp_path


def noisy(seed: int = 1) -> Cluster:
    """Hosts that are all alike, whose readings differ by chance."""
    return cluster_of(np.random.default_rng(seed).lognormal(3.0, 1.0, (SPLIT, SPLIT)))


def test_the_command_that_keeps_the_order(capsys):
    assert run(["order", "c.json", "--slots", "2", "--format", "openmpi", "-o", "my hosts"]) == 0
    last = capsys.readouterr().err.splitlines()[-1]
    command = "mpirun -np 32 --hostfile 'my hosts' --map-by seq PROGRAM"
    assert last == f"'my hosts': {command}"


@pytest.mark.parametrize("known", [{"user": "me"}, {"port": 2222}, {"ssh_address": "gw"}])
def test_what_a_launcher_must_know_from_elsewhere(capsys, known):
    found = racks([2, 2])[0]
    hosts = [replace(host, **known) for host in found.hosts]
    cluster.write_cluster("c.json", replace(found, hosts=hosts))
    assert run(["order", "c.json", "--format", "mpich", "-o", "f"]) == 0
    assert "note: the file holds names only" in capsys.readouterr().err
    cluster.write_cluster("c.json", found)
    assert run(["order", "c.json", "--format", "mpich", "-o", "f"]) == 0
    assert "names only" not in capsys.readouterr().err


def test_noise_is_said_in_the_table_and_after_it(capsys):
    cluster.write_cluster("n.json", noisy())
    assert run(["order", "n.json", "-o", "o.json"]) == 0
    shown = capsys.readouterr()
    order = order_file.read_order("o.json")
    assert order.gain > 0.3
    assert f"confirmed {confirmation(order)}" in shown.out
    assert confirmation(order).endswith("mostly noise")
    assert shown.err.startswith("note: this may be noise: ")
    assert run(["show", "o.json"]) == 0
    assert f"confirmed {confirmation(order)}" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("confirmed", "words"),
    [
        (0.5, "50 % of the 50 % predicted"),
        (0.3, "30 % of the 50 % predicted"),
        (0.2, "20 % of 50 %: mostly noise"),
        (-0.1, "0 % of 50 %: mostly noise"),
        (None, "not checked"),
    ],
)
def test_confirmation(confirmed, words):
    assert run(["order", "c.json", "-o", "o.json"]) == 0
    found = order_file.read_order("o.json")
    cost = replace(found.cost, random_us=2 * found.cost.cost_us)
    order = replace(found, cost=cost, confirmed_gain=confirmed)
    assert confirmation(order) == words
    assert (doubt(order) is not None) == words.endswith("noise")
    assert "-" not in (doubt(order) or "")


def test_an_unreachable_host_is_a_warning(capsys):
    gone = [Unreachable("gpu9", "connection refused")]
    cluster.write_cluster("c.json", replace(racks([4, 4])[0], unreachable=gone))
    assert run(["order", "c.json"]) == 3
    said = capsys.readouterr().err
    assert said == "warning: gpu9 was unreachable and gets no rank\n"


def test_a_name_with_escapes_does_not_reach_the_terminal(capsys):
    gone = [Failure("gpu\x1b[2J\n9", "connection refused")]
    cluster.write_cluster("c.json", replace(racks([4, 4])[0], unreachable=gone))
    assert run(["order", "c.json"]) == 2
    assert "\x1b" not in capsys.readouterr().err


def test_one_host_is_one_note(capsys):
    cluster.write_cluster("one.json", Cluster([Host("a", "10.0.0.1")]))
    assert run(["order", "one.json", "-o", "o.json"]) == 0
    assert capsys.readouterr() == ("ring order of 1 host\n", "note: one host has one order only\n")


def test_narrow_pages_break_no_label(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "40")
    assert run(["order", "c.json"]) == 0
    shown = capsys.readouterr().out
    assert max(map(len, shown.splitlines())) <= 40
    for label in ("given order", "random (median)", "plink's order", "lower bound"):
        assert label in shown


def test_options_of_a_search_that_is_none(capsys):
    assert run(["order", "c.json", "-o", "o.json"]) == 0
    capsys.readouterr()
    assert run(["order", "o.json", "--seed", "0", "--time-limit", "2"]) == 0
    said = capsys.readouterr().err
    assert said == "note: the order is from a file, so --time-limit, --seed have no effect\n"
    assert run(["order", "o.json"]) == 0
    assert capsys.readouterr().err == ""


def test_another_percentile(capsys):
    found = racks([4, 4])[0]
    assert found.rtt is not None
    doubled = {10.0: found.rtt.readings_us, 50.0: 2 * found.rtt.readings_us}
    cluster.write_cluster("c.json", replace(found, rtt=replace(found.rtt, rtt_us=doubled)))
    for options in ([], ["--percentile", "50"]):
        assert run(["order", "c.json", *options, "-o", f"o{len(options)}.json"]) == 0
    ten, fifty = (order_file.read_order(name) for name in ("o0.json", "o2.json"))
    assert fifty.cost.cost_us == pytest.approx(2 * ten.cost.cost_us)
    assert (ten.solver.options["reading"], fifty.solver.options["reading"]) == ("p10", "p50")
    assert run(["order", "c.json", "--percentile", "99"]) == 2
    assert "hint: choose a percentile of p10, p50" in capsys.readouterr().err


@pytest.mark.parametrize("readings", [None, np.full((2, 2), np.nan)])
def test_a_file_without_times_is_named(capsys, readings):
    hosts = [Host("a", "10.0.0.1"), Host("b", "10.0.0.2")]
    cluster.write_cluster("bare.json", Cluster(hosts) if readings is None else cluster_of(readings))
    assert run(["order", "bare.json"]) == 2
    said = capsys.readouterr().err
    assert said.startswith(
        "error: bare.json: holds no round-trip times\nhint: plink probe --resume bare.json measures"
    )
