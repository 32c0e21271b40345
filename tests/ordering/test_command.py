"""`plink order`, as a user runs it."""

from __future__ import annotations

import json
import os
import pty
import select
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from benchkit import ring_instances
from ordering.clusters import cluster_of, racks
from plink.base.replacing import replace
from plink.cli import run
from plink.deploy import launchers
from plink.deploy.launchers import FORMATS
from plink.formats import cluster, document
from plink.formats import order as order_file
from plink.formats.hosts import Group
from plink.formats.order_basis import order_basis

PLINK = [sys.executable, "-m", "plink"]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    cluster.write_cluster("c.json", racks([4, 4, 4, 4])[0])
    return tmp_path


def plink(folder: Path, *arguments: str, stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [*PLINK, "order", *arguments],
        cwd=folder,
        input=stdin,
        capture_output=True,
        timeout=100,
        check=False,
    )


def test_the_table_stands_on_stdout_and_the_file_is_written(folder, capsys):
    assert run(["order", "c.json", "-o", "o.json"]) == 0
    shown = capsys.readouterr()
    order = order_file.read_order("o.json")
    assert order.made_from == order_basis(cluster.read_cluster("c.json"), "latency")
    assert order.cost.cost_us == pytest.approx(4 * 60 + 12 * 20)
    for part in (
        "16 hosts",
        "given order",
        "random (median)",
        "confirmed",
        "lower bound",
        "gap",
        "filled",
    ):
        assert part in shown.out
    assert "480 µs" in shown.out
    assert shown.err == ""


def test_json_holds_what_scripts_need(folder, capsys):
    assert run(["order", "c.json", "--json", "--seed", "5"]) == 0
    data = json.loads(capsys.readouterr().out)
    cost = data["cost"]
    assert sorted(data["order"]) == sorted(data["listed"])
    assert cost["lower_bound_us"] <= cost["cost_us"] <= cost["listed_us"]
    assert cost["cost_us"] < cost["random_us"]
    assert data["gap"] == pytest.approx(1 - cost["lower_bound_us"] / cost["cost_us"], abs=1e-9)
    assert data["seconds"] >= 0.0
    assert data["solver"]["seed"] == 5
    assert data["filled_pairs"] == 0


# LightGBM and MLX take addresses only, of which the hosts here have none.
@pytest.mark.parametrize("name", ["hosts", "openmpi", "slurm", "torchrun", "pytorchjob"])
def test_every_format_is_written_from_a_cluster_or_an_order_alike(folder, capsys, name):
    assert run(["order", "c.json", "-o", "o.json", "--slots", "2"]) == 0
    assert run(["order", "o.json", "--format", name, "-o", "file"]) == 0
    capsys.readouterr()
    order = order_file.read_order("o.json")
    assert {host.slots for host in order.hosts} == {2}
    assert Path("file").read_text() == FORMATS[name].render(order.hosts)
    assert run(["order", "c.json", "--format", name, "--slots", "2"]) == 0
    shown = capsys.readouterr()
    assert shown.out == FORMATS[name].render(order.hosts)
    assert "32 ranks" in shown.err


def test_topologies_are_written_from_the_groups_of_either(folder, capsys):
    found = cluster.read_cluster("c.json")
    names = found.names
    groups = [Group("left", names[:8]), Group("right", names[8:])]
    cluster.write_cluster("c.json", replace(found, groups=groups))
    assert run(["order", "c.json", "-o", "o.json"]) == 0
    assert list(order_file.read_order("o.json").groups) == groups
    assert run(["order", "o.json", "--format", "slurm-block"]) == 0
    from_order = capsys.readouterr().out.partition("BlockName")[2]
    assert run(["order", "c.json", "--format", "slurm-block"]) == 0
    assert capsys.readouterr().out == f"BlockName{from_order}"
    assert "BlockSizes=8" in from_order


def test_a_topology_needs_groups(folder, capsys, monkeypatch):
    # It is refused before anything is searched.
    monkeypatch.setattr(
        "plink.optimize.orders.ordering.find_order", lambda *_: pytest.fail("it was searched")
    )
    assert run(["order", "c.json", "--format", "slurm-tree", "-o", "file"]) == 2
    assert "needs groups of hosts, but the file has none" in capsys.readouterr().err
    assert not Path("file").exists()


@pytest.mark.parametrize("word", ["LIST", "list"])
def test_formats_are_listed_without_a_file(capsys, word):
    assert run(["order", "--format", word]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == list(launchers.ALL)
    assert all(line.split(maxsplit=1)[1] for line in lines)


@pytest.mark.parametrize("name", launchers.ALL)
def test_every_format_has_help_with_the_command_to_use_it(capsys, name):
    assert run(["order", "--format", name, "--help"]) == 0
    shown = capsys.readouterr().out
    assert f"--format {name} -o FILE" in shown
    assert f"  {launchers.ALL[name].build_usage('FILE', None)}\n" in shown


def test_where_no_order_decides_the_ring_the_writer_says_so(folder, capsys):
    said = "RCCL on Strix Halo (gfx1151) makes rings of its own between hosts"
    assert run(["order", "c.json", "--format", "nccl", "-o", "ranks"]) == 0
    shown = capsys.readouterr()
    assert f"note: {said}" in shown.err
    # A loop of shell reads the file.
    assert said not in Path("ranks").read_text()
    assert run(["order", "--format", "nccl", "--help"]) == 0
    assert said in " ".join(capsys.readouterr().out.split())
    assert run(["order", "c.json", "--format", "openmpi", "-o", "hostfile"]) == 0
    assert "RCCL" not in capsys.readouterr().err


def test_the_help_of_no_format(capsys):
    assert run(["order", "--format", "fortran", "--help"]) == 2
    assert "there is no format 'fortran'" in capsys.readouterr().err


def test_verbs_pipe(folder):
    order = plink(folder, "-", "-o", "-", stdin=Path(folder / "c.json").read_bytes())
    assert order.returncode == 0
    assert b"lower bound" in order.stderr
    hosts = plink(folder, "-", "--format", "hosts", stdin=order.stdout)
    names = order_file.decode_order(document.parse(order.stdout, "order"), "order").names
    assert hosts.stdout.decode().split() == names


def test_slots_of_the_cluster_file_are_kept(folder, capsys):
    cluster.write_cluster("c.json", cluster_of(ring_instances.racks([2, 2], 1)[0], slots=3))
    assert run(["order", "c.json", "-o", "o.json"]) == 0
    assert "4 hosts, 12 ranks" in capsys.readouterr().out
    assert {host.slots for host in order_file.read_order("o.json").hosts} == {3}


def test_an_unmeasured_host_is_named_and_the_exit_code_says_partly(folder, capsys):
    readings = ring_instances.racks([3, 3], 1)[0]
    readings[2, :] = readings[:, 2] = np.nan
    cluster.write_cluster("c.json", cluster_of(readings))
    assert run(["order", "c.json", "-o", "o.json"]) == 3
    shown = capsys.readouterr()
    assert "no measurement reaches h2" in shown.err
    assert "5 of 15 pairs" in shown.out
    assert "5 pairs without a measurement: their distances were filled in" in shown.err
    assert order_file.read_order("o.json").unmeasured_hosts == ["h2"]


def test_no_structure_is_said_on_stderr(folder, capsys):
    cluster.write_cluster("c.json", cluster_of(np.full((8, 8), 30.0)))
    assert run(["order", "c.json", "--json"]) == 0
    shown = capsys.readouterr()
    assert "no structure found" in shown.err
    assert json.loads(shown.out)["gap"] == 0.0


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        (["no.json"], "no.json: No such file"),
        (["c.json", "--format", "fortran"], "there is no format 'fortran'"),
        (["c.json", "-o", "nowhere/o.json"], "there is no folder"),
        (["c.json", "--time-limit", "0"], "--time-limit"),
        (["c.json", "--slots", "0"], "--slots"),
        (["c.json", "--seed", "-1"], "--seed"),
        (["c.json", "--algo", "star"], "there is no algorithm 'star'"),
        (["c.json", "--algo", "bcube:3"], "a power of 3 of ranks, not 16"),
        (["c.json", "--objective", "speed"], "--objective"),
        (["c.json", "--size", "much"], "'much' is not a size"),
        (
            ["c.json", "--prove", "1", "--objective", "contention"],
            "leave out --prove 1, or use --objective latency",
        ),
        (["half.json"], "half.json: not valid JSON"),
        (["other.json"], "other.json: expected a plink.cluster file, found a 'plink.plan' file"),
        (["new.json"], "new.json: version 9 of the format plink.order is not supported"),
        (["bare.json"], "holds no round-trip time"),
    ],
)
def test_wrong_use_is_one_sentence_and_writes_nothing(folder, capsys, arguments, part):
    Path("half.json").write_bytes(Path("c.json").read_bytes()[:-40])
    Path("other.json").write_text('{"format": "plink.plan", "version": 1}')
    Path("new.json").write_text('{"format": "plink.order", "version": 9}')
    hosts = [cluster.Host("a", "10.0.0.1"), cluster.Host("b", "10.0.0.2")]
    cluster.write_cluster("bare.json", cluster.Cluster(hosts))
    before = sorted(folder.iterdir())
    # A second -o, among `arguments`, wins.
    assert run(["order", "-o", "out.json", *arguments]) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert part in shown.err
    assert "Traceback" not in shown.err
    assert sorted(folder.iterdir()) == before


@pytest.mark.parametrize("arguments", [["--format", "hosts"], ["-o", "-"]])
def test_two_kinds_of_data_do_not_mix_on_stdout(folder, capsys, arguments):
    assert run(["order", "c.json", "--json", *arguments]) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert "both write to standard output" in shown.err


def test_an_interrupt_keeps_the_best_so_far(folder):
    points = np.random.default_rng(1).random((200, 2))
    cluster.write_cluster(
        str(folder / "big.json"), cluster_of(1e3 * ring_instances.euclidean(points))
    )
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [*PLINK, "order", "big.json", "--time-limit", "600", "-o", "o.json"],
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=theirs,
    )
    os.close(theirs)
    try:
        shown = _read_until(ours, b"gap")
        process.send_signal(signal.SIGTERM)
        shown += _read_until(ours, b"was not checked")
        assert process.wait(timeout=100) == 3
    finally:
        process.kill()
        process.wait()
        os.close(ours)
    assert b"warning: interrupted" in shown.replace(b"\x1b[0m", b"").replace(b"\x1b[33m", b"")
    assert b"Traceback" not in shown
    order = order_file.read_order(str(folder / "o.json"))
    assert order.solver.ended_by == "interrupt"
    assert order.cost.cost_us < order.cost.random_us / 2


def _read_until(descriptor: int, text: bytes) -> bytes:
    """What a terminal showed until `text` came, for at most 30 s."""
    shown = b""
    until = time.monotonic() + 30.0
    while text not in shown and time.monotonic() < until:
        if select.select([descriptor], [], [], 0.2)[0]:
            shown += os.read(descriptor, 65536)
    assert text in shown
    return shown
