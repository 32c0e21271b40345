"""A large run against simulated agents: what it measures, what it says to them, what it writes."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchkit.simulated import Behaviour, SimulatedProcess, simulated_reach
from plink.cli import probe_action
from plink.cli import run as plink
from plink.formats import cluster as cluster_file
from plink.measure.probing import request
from plink.measure.probing.passes import NO_POLICY, StoppingPolicy
from plink.probes.reach import Reached
from plink.probes.rounds import sample_rounds

HOSTS, ROUNDS = 60, 12


def probe(
    monkeypatch: pytest.MonkeyPatch,
    folder: Path,
    behaviour: Behaviour,
    *options: str,
    policy: StoppingPolicy = NO_POLICY,
) -> tuple[int, cluster_file.Cluster, Reached]:
    reached: list[Reached] = []

    def reach(listed: Any, *_: object, **__: object) -> Reached:
        reached.append(simulated_reach(listed, behaviour, seed=3))
        return reached[0]

    monkeypatch.setattr(request, "reach", reach)
    # In place of the pairs that groups ask for.
    monkeypatch.setattr(probe_action, "stop_when_groups_are_certain", lambda: policy)
    hosts, out = folder / "hosts", folder / "c.json"
    hosts.write_text("\n".join(f"10.9.0.{i}" for i in range(HOSTS)))
    code = plink(["probe", str(hosts), "-o", str(out), "--rounds", str(ROUNDS), *options])
    return code, cluster_file.read_cluster(str(out)), reached[0]


@pytest.mark.parametrize("one_machine", [False, True])
def test_a_sample_of_many_hosts_is_measured_whole(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, one_machine: bool
) -> None:
    behaviour = Behaviour(
        round_s=0.002, pair_loss=0.0, never_start=0.0, die=0.0, one_machine=one_machine
    )
    code, cluster, _ = probe(monkeypatch, tmp_path, behaviour, "--seed", "9")
    assert code == 0
    assert cluster.rtt is not None
    measured = np.zeros((HOSTS, HOSTS), dtype=bool)
    for i, j in (pair for pairs in sample_rounds(HOSTS, ROUNDS, 9) for pair in pairs):
        measured[i, j] = measured[j, i] = True
    np.testing.assert_array_equal(~np.isnan(cluster.rtt.readings_us), measured)
    assert {"rounds": 12, "rounds_in_all": 59, "seed": 9}.items() <= cluster.rtt.options.items()


def test_failing_hosts_cost_their_own_pairs_only(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    behaviour = Behaviour(round_s=0.002, pair_loss=0.1, never_start=0.03, die=0.03)
    code, cluster, reached = probe(monkeypatch, tmp_path, behaviour)
    assert code == 3
    assert cluster.rtt is not None
    failed = {item.source for item in cluster.rtt.failures if item.destination is None}
    assert failed
    lost = {(item.source, item.destination) for item in cluster.rtt.failures if item.destination}
    read = ~np.isnan(cluster.rtt.readings_us)
    for i, j in (pair for pairs in sample_rounds(HOSTS, ROUNDS, 0) for pair in pairs):
        for one, other in ((i, j), (j, i)):
            names = (cluster.names[one], cluster.names[other])
            assert read[one, other] != (names in lost)
    silent = [pair for pair in lost if failed.isdisjoint(pair)]
    assert 0 < len(silent) < 0.05 * HOSTS * ROUNDS
    for host in reached.hosts:
        host.session.close()


def test_an_agent_hears_of_its_own_partners_only(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    heard: dict[str, Counter[str]] = {}
    hear = SimulatedProcess.write

    def write(process: SimulatedProcess, text: str) -> None:
        verbs = heard.setdefault(process.host, Counter())
        verbs.update(line.split()[0] for line in text.splitlines())
        hear(process, text)

    monkeypatch.setattr(SimulatedProcess, "write", write)
    behaviour = Behaviour(round_s=0.002, pair_loss=0.0, never_start=0.1, die=0.0)
    probe(monkeypatch, tmp_path, behaviour)
    assert len(heard) > HOSTS // 2
    for verbs in heard.values():
        assert verbs["peer"] == verbs["pair"] <= ROUNDS
        assert verbs["gone"] + verbs["suspect"] <= 2 * ROUNDS


def test_the_report_and_show_say_that_it_is_a_sample(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    behaviour = Behaviour(round_s=0.002, pair_loss=0.0, never_start=0.0, die=0.0)
    probe(monkeypatch, tmp_path, behaviour)
    said = capsys.readouterr().err
    assert "720 of 720 directed pairs (sampled: 12 of 59 rounds)" in said
    out = str(tmp_path / "c.json")
    assert plink(["show", out, "--width", "100"]) == 0
    page = " ".join(capsys.readouterr().out.split())
    assert "720 of 3,540 directions measured (sampled: 12 of 59 rounds)" in page
    assert plink(["show", out, "--json"]) == 0
    summary = json.loads(capsys.readouterr().out)
    assert summary["sample"] == {"rounds": 12, "in_all": 59, "seed": 0}
    assert summary["gaps"] == []
    assert plink(["order", out, "--time-limit", "1", "--json"]) == 0
    order = json.loads(capsys.readouterr().out)
    assert order["filled_pairs"] == HOSTS * (HOSTS - 1) // 2 - HOSTS * ROUNDS // 2
    assert order["unmeasured_hosts"] == []


def test_pairs_that_a_question_asks_for_count_in_every_figure(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sampled = {pair for pairs in sample_rounds(HOSTS, ROUNDS, 0) for pair in pairs}
    beside = [(0, other) for other in range(1, HOSTS) if (0, other) not in sampled][:23]
    behaviour = Behaviour(round_s=0.002, pair_loss=0.0, never_start=0.0, die=0.0)
    policy = StoppingPolicy(hinges=lambda _: beside)
    code, cluster, _ = probe(monkeypatch, tmp_path, behaviour, "--json", policy=policy)
    assert code == 0
    assert cluster.rtt is not None
    read = int(np.count_nonzero(~np.isnan(cluster.rtt.readings_us)))
    assert read == HOSTS * ROUNDS + 2 * len(beside)
    said = capsys.readouterr()
    (stage,) = json.loads(said.out)["stages"]
    assert (stage["measured"], stage["asked"]) == (read, read)
    assert f"{read} of {read} directed pairs" in said.err
    assert f" of {read} agree within" in said.err
