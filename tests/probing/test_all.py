"""`plink probe --all`, with hosts and tools that are played: what is kept, and how it ends."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from plink.base.replacing import replace
from plink.formats import cluster as cluster_file
from plink.formats.cluster import Cluster
from plink.measure.probing import request
from plink.measure.probing import uplinks as uplinks_run
from plink.probes.options import SshOptions
from plink.probes.reach import Reached
from plink.probes.samples import HostLoss, MeasuringJob, RttReading, Sink
from plink.probes.ssh.connect import SshOpener
from plink.probes.uplinks.plan import ExchangeTurn, GroupExchange, plan_flows
from plink.probes.uplinks.tool import ExchangeLoss, GroupResult
from support.plink_command import Done, plink_here
from support.reached import reached_host

RACKS = 3
HOSTS = [f"h{number}" for number in range(1, 10)]
PAIRS = len(HOSTS) * (len(HOSTS) - 1)


@dataclass
class Play:
    """What the tools do, and what they were asked for.

    Args:
        racks: that round trips show; 1 for none.
        interrupted: the stage in which the user stops it.
        has_iperf3: the hosts have it.
        connections: how often hosts were reached.
        pairs, exchanges: what was measured.
    """

    racks: int = RACKS
    interrupted: str = ""
    has_iperf3: bool = True
    connections: int = 0
    pairs: list[tuple[int, int]] = field(default_factory=list)
    exchanges: list[tuple[int, bool]] = field(default_factory=list)


@pytest.fixture
def play(monkeypatch: pytest.MonkeyPatch) -> Play:
    played = Play()
    random = np.random.default_rng(1)

    def reach(*_: object, **__: object) -> Reached:
        played.connections += 1
        return Reached(SshOpener(SshOptions()), [reached_host(k + 1) for k in range(len(HOSTS))])

    def measure_pairs(job: MeasuringJob[Any], sink: Sink[RttReading]) -> None:
        for i, j in sorted(job.wanted):
            near = i % played.racks == j % played.racks
            us = (20.0 if near else 60.0) + random.uniform(0, 4)
            sink.reading(RttReading(i, j, 1, 1, dict.fromkeys((10.0, 50.0, 99.0), us)))
            played.pairs.append((i, j))
            if played.interrupted == "pairs":
                raise KeyboardInterrupt

    @contextmanager
    def simultaneous_transfers(
        hosts: Sequence[object], _options: object, lose: Callable[[HostLoss], None], **_: object
    ) -> Iterator[SimpleNamespace]:
        if not played.has_iperf3:
            for k in range(len(hosts)):
                lose(HostLoss(k, "iperf3 is not installed there"))
        yield SimpleNamespace(hosts=hosts)

    def measure_groups(
        _transfers: object,
        groups: Sequence[Sequence[int]],
        turns: Sequence[ExchangeTurn],
        _duration_s: int,
    ) -> Iterator[GroupResult]:
        for turn in turns:
            for group, flows in zip(turn.groups, plan_flows(groups, turn.groups), strict=True):
                if not played.has_iperf3:
                    yield ExchangeLoss(group, turn.sends, "no host can take part")
                    continue
                if played.interrupted == "uplinks" or (
                    played.interrupted == "later uplinks" and played.exchanges
                ):
                    raise KeyboardInterrupt
                played.exchanges.append((group, turn.sends))
                rates = [(flow, 0.4 / len(flows)) for flow in flows]
                yield GroupExchange(group, turn.sends, rates, is_whole=True)

    monkeypatch.setattr(request, "reach", reach)
    monkeypatch.setattr("plink.probes.echo.coordinator.measure", measure_pairs)
    monkeypatch.setattr(uplinks_run, "SimultaneousTransfers", simultaneous_transfers)
    monkeypatch.setattr(uplinks_run, "measure_links", lambda *_, **__: ())
    monkeypatch.setattr(uplinks_run, "measure_groups", measure_groups)
    return played


def probe(tmp_path: Path, *more: object) -> Done:
    listed = tmp_path / "hosts"
    listed.write_text("\n".join(HOSTS))
    return plink_here("probe", listed, "-o", tmp_path / "c.json", "--all", *more)


def go_on(tmp_path: Path, *more: object) -> Done:
    return plink_here("probe", "--resume", tmp_path / "c.json", "--all", *more)


def read(tmp_path: Path) -> Cluster:
    return cluster_file.read_cluster(str(tmp_path / "c.json"))


def test_one_run_yields_all_three(play: Play, tmp_path: Path) -> None:
    done = probe(tmp_path)
    assert done.code == 0, done.stderr
    cluster = read(tmp_path)
    assert cluster.rtt is not None
    assert {frozenset(group.hosts) for group in cluster.groups} == {
        frozenset(HOSTS[rack::RACKS]) for rack in range(RACKS)
    }
    assert cluster.grouping is not None
    assert cluster.uplinks is not None
    assert [known.send_gbit_s for known in cluster.uplinks.uplinks] == pytest.approx([0.4] * RACKS)
    assert play.connections == 1
    said = done.stderr
    assert said.index(f"{PAIRS} of {PAIRS} directed pairs") < said.index("3 groups found")
    assert said.index("3 groups found") < said.index("3 of 3 groups")


def test_what_is_there_is_not_done_again(play: Play, tmp_path: Path) -> None:
    probe(tmp_path)
    before = read(tmp_path)
    play.pairs.clear()
    play.exchanges.clear()
    done = go_on(tmp_path)
    assert done.code == 0, done.stderr
    assert not play.pairs
    assert not play.exchanges
    assert "3 groups as the file has them" in done.stderr
    after = read(tmp_path)
    assert after.uplinks == before.uplinks
    assert after.grouping == before.grouping


def test_the_outcome_of_all_stages_as_json(play: Play, tmp_path: Path) -> None:
    play.interrupted = "uplinks"
    found = json.loads(probe(tmp_path, "--json", "--duration", "3").stdout)
    file = tmp_path / "c.json"
    assert found["resume"] == f"plink probe --resume {file} --all --duration 3"
    assert [stage["tool"] for stage in found["stages"]] == ["echo", "uplinks"][:1]
    play.interrupted = ""
    found = json.loads(go_on(tmp_path, "--json").stdout)
    assert [stage["tool"] for stage in found["stages"]] == ["echo", "uplinks"]
    assert (len(found["groups"]), found["resume"]) == (RACKS, None)


def test_without_groups_uplinks_are_left_out(play: Play, tmp_path: Path) -> None:
    play.racks = 1
    done = probe(tmp_path)
    assert done.code == 0, done.stderr
    assert "note: no structure found: uplinks are not measured" in done.stderr
    assert not play.exchanges
    assert read(tmp_path).uplinks is None
    assert "are not measured" in go_on(tmp_path).stderr


def test_without_iperf3_the_rest_is_kept(play: Play, tmp_path: Path) -> None:
    play.has_iperf3 = False
    done = probe(tmp_path)
    assert done.code == 3
    assert "warning: h1: iperf3 is not installed there" in done.stderr
    assert "warning: no uplink could be measured" in done.stderr
    cluster = read(tmp_path)
    assert cluster.rtt is not None
    assert len(cluster.groups) == RACKS
    assert cluster.uplinks is None


@pytest.mark.parametrize(
    ("stage", "groups", "has_uplinks"),
    [("pairs", 0, False), ("uplinks", RACKS, False), ("later uplinks", RACKS, True)],
)
def test_an_interrupt_keeps_what_is_there_and_says_what_goes_on(
    play: Play, tmp_path: Path, stage: str, groups: int, has_uplinks: bool
) -> None:
    play.interrupted = stage
    done = probe(tmp_path)
    assert done.code == 3
    command = f"plink probe --resume {tmp_path / 'c.json'} --all"
    assert done.stderr.count(f"warning: interrupted; continue with: {command}") == 1
    cluster = read(tmp_path)
    assert cluster.rtt is not None
    assert len(cluster.groups) == groups
    assert (cluster.uplinks is not None) == has_uplinks
    play.interrupted = ""
    play.exchanges.clear()
    done = go_on(tmp_path)
    assert done.code == 0, done.stderr
    assert len(read(tmp_path).groups) == RACKS
    assert len(play.exchanges) == 2 * RACKS - (1 if has_uplinks else 0)
    assert len(set(play.pairs)) == len(play.pairs) == PAIRS


def test_groups_that_were_given_are_kept(play: Play, tmp_path: Path) -> None:
    probe(tmp_path)
    cluster = read(tmp_path)
    given = [replace(cluster.groups[0], name="left"), replace(cluster.groups[1], name="right")]
    cluster_file.write_cluster(
        str(tmp_path / "c.json"), replace(cluster, groups=given, grouping=None, uplinks=None)
    )
    done = go_on(tmp_path)
    assert done.code == 0, done.stderr
    assert "2 groups as the file has them: left (3), right (3)" in done.stderr


def test_standard_output_gets_one_file(play: Play, tmp_path: Path) -> None:
    listed = tmp_path / "hosts"
    listed.write_text("\n".join(HOSTS))
    done = plink_here("probe", listed, "-o", "-", "--all")
    assert done.code == 0, done.stderr
    (tmp_path / "c.json").write_text(done.stdout)
    assert read(tmp_path).uplinks is not None


@pytest.mark.parametrize(
    "options",
    [("--tool", "uplinks"), ("--tool", "echo"), ("--groups", "g.txt"), ("--direction", "both")],
)
def test_what_would_choose_a_stage_is_refused(tmp_path: Path, options: tuple[str, str]) -> None:
    done = probe(tmp_path, *options)
    assert done.code == 2
    assert f"{options[0]} is for measuring with a single tool and excludes --all" in done.stderr
