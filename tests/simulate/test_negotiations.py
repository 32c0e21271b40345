"""What ranks say while they agree, as a schedule: plink's clock and SimGrid beside each other."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from plink.base.errors import PlinkError
from plink.cli import run
from plink.simulate.control.costs import Costs
from plink.simulate.control.negotiation import MODES, negotiation
from plink.simulate.datacentres import racks
from plink.simulate.schedule import COMPUTE, SEND, check, steps_of
from plink.simulate.simgrid import program
from plink.simulate.simgrid.run import run_schedule
from plink.simulate.traces import files

HOP_S = 5e-7
# Four hops, whoever talks to whom, and no time of a processor.
FREE = Costs(latency_s=4 * HOP_S)


@pytest.fixture
def simgrid() -> None:
    """Skip where there is no SimGrid."""
    try:
        program.simulator()
    except PlinkError as error:
        pytest.skip(str(error))


@pytest.mark.parametrize("mode", MODES)
def test_everybody_is_heard_and_told(mode: str) -> None:
    ranks = 73
    found = negotiation(mode, ranks, FREE, tensors=3)
    # Up the tree and down it, once each.
    sent = found.schedule.bytes_between() > 0
    width = ranks if mode == "full" else 8
    edges = np.zeros((ranks, ranks), dtype=bool)
    for rank in range(1, ranks):
        edges[rank, (rank - 1) // width] = edges[(rank - 1) // width, rank] = True
    assert (sent == edges).all()
    assert found.messages == int((found.schedule.kind == SEND).sum()) >= 2 * (ranks - 1)
    assert found.bytes == found.schedule.bytes_sent
    check(found.schedule)


def test_a_tree_takes_its_depth_in_messages() -> None:
    # 1 + 8 + 64 ranks: two levels up, and two down.
    found = negotiation("tree", 73, FREE)
    assert found.time_s == pytest.approx(4 * FREE.latency_s)
    assert found.slept_s == 0.0
    assert steps_of(found.schedule, check(found.schedule)).max() == 4
    # Each rank's thread takes its time, and those of eight children are heard one by one.
    costs = Costs(latency_s=2e-6, step_s=1e-6, in_s=5e-7, out_s=2.5e-7)
    busy = negotiation("tree", 73, costs)
    computed = busy.schedule.amount[busy.schedule.kind == COMPUTE].sum() * 1e-9
    assert busy.time_s > found.time_s + 4 * 1e-6
    assert computed > 73 * 1e-6


def test_cycles_are_slept_for() -> None:
    found = negotiation("bitvector", 73, FREE)
    assert 5e-4 < found.slept_s < 1e-3
    assert found.time_s - found.slept_s == pytest.approx(4 * FREE.latency_s, abs=1e-7)


@pytest.mark.needs("simgrid")
@pytest.mark.usefixtures("simgrid")
@pytest.mark.parametrize("mode", ["tree", "bitvector"])
def test_simgrid_says_the_same_where_all_are_as_far(mode: str) -> None:
    # A host in each rack, so that all are four links from each other.
    centre = racks(73, 1, rate_gbit_s=1000, hop_us=1e6 * HOP_S)
    costs = Costs(latency_s=4 * HOP_S, step_s=5e-7, in_s=3e-7, out_s=1e-7)
    found = negotiation(mode, 73, costs)
    simulated = run_schedule(
        centre.platform, found.schedule, np.arange(73), eager_bytes=float("inf")
    )
    expected = found.time_s - found.slept_s
    assert simulated.time_s - found.slept_s == pytest.approx(expected, rel=0.01)


@pytest.mark.needs("simgrid")
@pytest.mark.usefixtures("simgrid")
def test_the_command_simulates_negotiations(capsys: pytest.CaptureFixture[str]) -> None:
    described = ["--racks", "16", "--hosts", "4", "--algo", "control:tree"]
    assert run(["simulate", *described, "--json"]) == 0
    (row,) = json.loads(capsys.readouterr().out)["rows"]
    assert row["given"] is row["random"] is None
    assert row["order"]["predicted_s"] == pytest.approx(row["order"]["simulated_s"], rel=0.15)


def test_an_unknown_mode_is_a_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["simulate", "--racks", "2", "--algo", "control:cycles"]) == 2
    assert "ranks do not agree in a mode 'cycles'" in capsys.readouterr().err
    assert run(["simulate", "--racks", "1", "--hosts", "1", "--algo", "control:tree"]) == 2


def test_a_negotiation_is_traced(tmp_path: Path) -> None:
    out = str(tmp_path / "agreeing.goal")
    described = ["--racks", "4", "--hosts", "4", "--algo", "control:tree"]
    assert run(["simulate", *described, "--trace", "goal", "-o", out]) == 0
    sent = files.read(out).bytes_between() > 0
    assert sent.sum() == 2 * 15
    assert sent[9:, 1].all()
