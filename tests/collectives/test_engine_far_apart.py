"""The engine between regions far apart: right sums over paths that lose, and TCP fit for them."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from support.lab import Lab, lab_cluster

pytestmark = pytest.mark.lab

TESTS = Path(__file__).resolve().parents[1]
RANK = """
import json, sys
import numpy as np
from engine import forests
from plink.engine import DirectoryStore, Engine, Options

rank, ranks, address, store, kind, deterministic = sys.argv[1:]
rank, ranks = int(rank), int(ranks)
options = Options(
    addresses=(address,), setup_timeout_s=30.0, workers=3, deterministic=deterministic == "yes"
)
forest = getattr(forests, kind)(ranks)
with Engine(rank, ranks, DirectoryStore(store), forest, options) as engine:
    pattern = (np.arange(300_000) % 1009).astype(np.float32)
    # Several under way, of which the last goes first.
    arrays = [pattern * (number + 1) for number in range(3)]
    works = [
        engine.allreduce(array, priority=number) for number, array in enumerate(arrays)
    ]
    for work in works:
        work.wait(60)
    right = [
        bool(np.array_equal(array, pattern * (number + 1) * ranks))
        for number, array in enumerate(arrays)
    ]
    controls = {one.peer: one.congestion_control for one in engine.statistics().connections}
    trips_us = {one.peer: one.least_rtt_us for one in engine.statistics().connections}
    engine.barrier().wait(10)
print(json.dumps([right, controls, trips_us]))
"""


def answers(lab: Lab, folder: Path, kind: str, deterministic: str) -> list[list[Any]]:
    hosts = [host for rack in ("r1", "r2") for host in lab.racks[rack]]
    running = []
    for rank, host in enumerate(hosts):
        argv = [sys.executable, "-c", RANK, str(rank), str(len(hosts))]
        argv += [lab.truth["addresses"][host], str(folder), kind, deterministic]
        running.append(
            subprocess.Popen(lab.command(host, argv), stdout=subprocess.PIPE, text=True, cwd=TESTS)
        )
    try:
        return [json.loads(one.communicate(timeout=100)[0]) for one in running]
    finally:
        for one in running:
            one.kill()


def test_sums_are_right_and_far_connections_have_bbr(tmp_path: Path) -> None:
    shape = {"regions": [2, 2], "rtt_ms": 30, "wan_rate": "200mbit", "loss": "0.1%"}
    (tmp_path / "wan.json").write_text(json.dumps({**shape, "host_rate": "none"}))
    options = ["--congestion-control", "reno"]
    with lab_cluster(topology=tmp_path / "wan.json", options=options) as lab:
        for number, (kind, deterministic) in enumerate([("stars", "no"), ("chains", "yes")]):
            said = answers(lab, tmp_path / str(number), kind, deterministic)
            assert [right for right, _, _ in said] == [[True] * 3] * 4
            for rank, (_, controls, trips_us) in enumerate(said):
                for peer in set(range(4)) - {rank}:
                    is_far = peer // 2 != rank // 2
                    assert (trips_us[str(peer)] >= 30_000) == is_far
                    # The hosts' own is reno; bbr may be chosen wherever a machine has it.
                    if is_far and lab_allows_bbr():
                        assert controls[str(peer)] == "bbr"
                    elif not is_far:
                        assert controls[str(peer)] == "reno"


def lab_allows_bbr() -> bool:
    allowed = Path("/proc/sys/net/ipv4/tcp_allowed_congestion_control").read_text()
    return "bbr" in allowed.split()
