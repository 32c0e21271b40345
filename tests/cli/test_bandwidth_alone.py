"""From a benchmark's output to order and plan, as a user goes, without any round-trip time."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from plink.cli import run
from plink.formats import cluster as cluster_file
from plink.formats import order as order_file
from plink.formats import plan as plan_file

HOSTS = [f"gpu{number:02}" for number in range(8)]
HEAD = """\
# Collective test starting: sendrecv_perf
# nThread 1 nGpus 1 minBytes 33554432 maxBytes 134217728 step: 4(factor) warmup iters: 1 iters: 20
# Using devices
#  Rank  0 Group  0 Pid  62767 on {one} device  0 [0000:19:00] NVIDIA H800
#  Rank  1 Group  0 Pid  36788 on {other} device  0 [0000:19:00] NVIDIA H800
"""
ROW = "  {size}  1  float  sum  -1  1400.2  {rate}  {rate}  0  1410.0  {rate}  {rate}  N/A\n"
END = "# Avg bus bandwidth    : 15.9567\n"


def log_of(one: int, other: int) -> str:
    """A run between two hosts: even ones are near each other, and odd ones."""
    rate = (40.0 if one % 2 == other % 2 else 10.0) + 0.01 * (one + other)
    head = HEAD.format(one=HOSTS[one], other=HOSTS[other])
    if (one, other) == (2, 5):
        return head + "gpu05: Test NCCL failure common.cu:958 'unhandled system error'\n"
    rows = (ROW.format(size=size, rate=share * rate) for size, share in ((2**25, 0.5), (2**27, 1)))
    return head + "".join(rows) + END


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    pairs = [(one, other) for one in range(8) for other in range(one + 1, 8)]
    Path("nccl.log").write_text("".join(log_of(*pair) for pair in pairs), encoding="utf-8")
    return tmp_path


def test_import_order_show_plan(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["import", "nccl.log", "-o", "c.json"]) == 3
    shown = capsys.readouterr()
    assert "gpu02 to gpu05: nccl.log:" in shown.err
    assert "has no result" in shown.err
    found = cluster_file.read_cluster("c.json")
    assert found.rtt is None
    assert found.bandwidth is not None
    assert found.bandwidth.options == {"message_bytes": 2**27}

    assert run(["order", "c.json", "-o", "o.json"]) == 0
    shown = capsys.readouterr()
    for part in ("bottleneck", "given order", "random (median)", "bound", "Gbit/s", "1 of 28"):
        assert part in shown.out
    assert "as slow as the slowest that was measured" in shown.err
    order = order_file.read_order("o.json")
    crossings = [
        int(one[3:]) % 2 != int(other[3:]) % 2
        for one, other in zip(order.names, [*order.names[1:], order.names[0]], strict=True)
    ]
    assert sum(crossings) == 2
    assert order.bandwidth is not None
    # The fastest two ways across that share no host.
    assert order.bandwidth.bottleneck_gbit_s == pytest.approx(8 * 10.11, rel=2e-3)

    for words in (["show", "o.json"], ["show", "c.json"], ["show", "--json", "o.json"]):
        assert run(words) == 0
        assert "µs" not in capsys.readouterr().out
    assert run(["order", "o.json", "--format", "openmpi"]) == 0
    assert capsys.readouterr().out.split() == order.names
    assert run(["plan", "c.json", "-o", "p.json"]) == 0
    shown = capsys.readouterr()
    assert "assuming zero latency" in shown.err
    plan = plan_file.read_plan("p.json")
    assert len(plan.ranks) == 8
    assert run(["show", "p.json"]) == 0
    assert run(["predict", "o.json", "--cluster", "c.json", "--size", "20MB"]) == 0
    assert "assuming zero latency" in capsys.readouterr().err


def test_json_says_the_bottleneck_beside_others(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["import", "nccl.log", "--size", "32MiB", "-o", "c.json"]) == 3
    capsys.readouterr()
    assert run(["order", "c.json", "--algo", "tree", "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert data["cost"]["kind"] == "bandwidth"
    figures = data["cost"]
    assert 0 < figures["random_gbit_s"] <= figures["bound_gbit_s"]
    assert figures["bottleneck_gbit_s"] <= figures["bound_gbit_s"] < 8 * 40.2 / 2
    assert not [name for name in figures if name.endswith("_us")]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["order", "c.json", "--objective", "latency"], "holds no round-trip times"),
        (["order", "c.json", "--prove", "1"], "an exact engine cannot prove an order by bandwidth"),
        (["order", "c.json", "--interleave"], "keeps the ranks of a host adjacent"),
        (["order", "c.json", "--percentile", "50"], "--percentile 50 applies to round-trip times"),
        (["import", "nccl.log", "--size", "huge", "-o", "d.json"], "--size 'huge' is not a size"),
        (["import", "nccl.log", "--size", "1KiB", "-o", "d.json"], "nccl.log:2: this run has no"),
    ],
)
def test_refusals(
    words: list[str], said: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run(["import", "nccl.log", "-o", "c.json"])
    capsys.readouterr()
    assert run(words) == 2
    assert said in capsys.readouterr().err
