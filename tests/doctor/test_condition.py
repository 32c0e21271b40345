"""What hosts say of their networks: this machine's own words, and words that are none."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import pytest

from plink.base.replacing import replace
from plink.measure.probing import conditions
from plink.probes import condition
from plink.probes.condition import (
    HostCondition,
    ProcessorShares,
    compute_throttled_share,
    find_best_share,
    parse,
)
from support.reached import reached_host

SAID = """\
mtu 9000
speed 25000
duplex full
pcie_now 8.0 GT/s PCIe
pcie_most 16.0 GT/s PCIe
pcie_now_width 8
pcie_most_width 16
congestion cubic
kernel 6.1.0-18-amd64
load 1.52 0.80 0.40 2/400 123
cores 16
ib infiniband/mlx5_0/ports/1 400 Gb/sec (4X NDR)
before rx_bytes 1000
before tx_bytes 5000
before cpu 100 0 50 800 0 0 0 50 0 0
after rx_bytes 3000
after tx_bytes 5000
after rx_dropped 7
after tcp Tcp: 1 200 120000 -1 10 11 12 13 14 1500 1600 17 0 18 0
after cpu 200 0 100 1600 0 0 0 100 0 0
done
"""


def test_what_a_host_says() -> None:
    said = parse(SAID, "eth0", 0.5, 0.01)
    assert (said.mtu_bytes, said.speed_mbit, said.duplex) == (9000, 25000, "full")
    assert said.pcie_share == pytest.approx(0.25)
    assert (said.congestion_control, said.kernel, said.load) == ("cubic", "6.1.0-18-amd64", 1.52)
    assert (said.rx_bytes_s, said.tx_bytes_s) == (2000.0, 0.0)
    assert said.counters["rx_dropped"] == 7
    assert (said.counters["tcp_sent"], said.counters["tcp_again"]) == (1600, 17)
    assert said.busy_share == pytest.approx(0.2)
    assert said.steal_share == pytest.approx(0.05)
    assert said.infiniband_gbit_s == {"mlx5_0:1": 400.0}
    assert (said.clock_offset_s, said.clock_error_s) == (0.5, 0.01)


def test_this_machine_s_shell_says_it() -> None:
    words = ["sh", "-c", condition._SCRIPT, "sh", "lo"]
    text = subprocess.run(words, capture_output=True, text=True, check=True).stdout
    said = parse(text, "lo")
    assert text.endswith("done\n")
    assert said.mtu_bytes is not None
    assert said.congestion_control is not None
    assert said.rx_bytes_s is not None
    assert said.busy_share is not None
    assert "tcp_sent" in said.counters
    spin = subprocess.run(["sh", "-c", condition._SPIN], capture_output=True, text=True, check=True)
    share = find_best_share(spin.stdout)
    assert share is None or 0.0 < share <= 1.0


@pytest.mark.parametrize(
    "text",
    [
        "",
        "mtu\nspeed -1\nduplex unknown\nload x\ncores 0\n",
        "mtu 99999999999999999999\ncongestion a;b\nkernel $(x)\nbefore cpu 1 2\n",
        "before rx_bytes 5\nafter rx_bytes x\nib infiniband/../ports/1 nan Gb/sec\n",
    ],
)
def test_nonsense_says_nothing(text: str) -> None:
    said = parse(text, "eth0")
    assert said.mtu_bytes is said.speed_mbit is said.duplex is None
    assert said.congestion_control is said.kernel is said.rx_bytes_s is None
    assert said.infiniband_gbit_s == {}
    assert said.cores == 1


def test_turns_that_are_too_short_say_nothing() -> None:
    assert find_best_share("100 200\nx\n5000000 1000\n") is None
    assert compute_throttled_share("before periods 5\nbefore throttled 1\n4 9\n") is None
    counted = "before periods 5\nbefore throttled 1\n4 9\nafter periods 25\nafter throttled 16\n"
    assert compute_throttled_share(counted) == pytest.approx(0.75)
    assert find_best_share("4000000 8000000\n4000000 5000000\n") == pytest.approx(0.8)


@pytest.mark.parametrize(
    ("machines", "are_compared"),
    [(["m", "m", "m"], False), (["m", "m", "n"], True), (["", "", ""], True)],
)
def test_hosts_of_one_machine_are_not_compared_by_its_processors(
    machines: Sequence[str], are_compared: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = HostCondition(interface="eth0", mtu_bytes=9000, busy_share=0.9, steal_share=0.2)
    monkeypatch.setattr(conditions, "_ask", lambda _: said)
    monkeypatch.setattr(
        conditions, "measure_processor_shares", lambda _: ProcessorShares(0.8, None)
    )
    hosts = [reached_host(number) for number, _ in enumerate(machines)]
    hosts = [
        replace(host, facts=replace(host.facts, machine=machine))
        for host, machine in zip(hosts, machines, strict=True)
    ]
    reached: Any = SimpleNamespace(hosts=hosts)
    progress: Any = SimpleNamespace(stage=lambda *_: None, step=lambda: None)
    asked = conditions.ask_conditions(reached, progress, concurrency=2)
    for each in asked.hosts:
        shares = (0.9, 0.2) if are_compared else (None, None)
        assert (each.condition.busy_share, each.condition.steal_share) == shares
        # A limit of one container is no other's.
        assert each.condition.processor_share == 0.8
        assert each.condition.mtu_bytes == 9000
    assert len(asked.hosts) == 3
