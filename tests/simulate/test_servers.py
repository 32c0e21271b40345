"""Plans through servers on SimGrid: what theory says, what plink's model says, and wrong use."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from plink.base.errors import PlinkError
from plink.cli import run
from plink.formats import cluster as cluster_file
from plink.formats import plan as plan_file
from plink.optimize.plans.planning import find_plan
from plink.optimize.plans.request import PlanRequest
from plink.simulate.datacentres import DataCentre, fat_tree, racks
from plink.simulate.simgrid import program
from plink.simulate.simgrid.platforms import Zones
from plink.simulate.simgrid.run import run_schedule
from plink.simulate.through_servers import through_servers
from plink.simulate.traces import files

needs_simgrid = pytest.mark.needs("simgrid")

SIZE = 8_000_000
RATE = 10e9 / 8


@pytest.fixture
def simgrid() -> None:
    """Skip where there is no SimGrid."""
    try:
        program.simulator()
    except PlinkError as error:
        pytest.skip(str(error))


def simulated(
    centre: DataCentre, servers: Sequence[str], kind: str = "ps", told: Sequence[str] = ()
) -> tuple[float, float]:
    """What SimGrid and plink's model say of a plan, in s."""
    asked = PlanRequest(kind=kind, size=SIZE, servers=servers)
    plan = find_plan(centre.cluster, asked).plan
    made = through_servers(centre.cluster, plan, SIZE, centre.platform, told or servers)
    found = run_schedule(made.platform, made.schedule, made.hosts, eager_bytes=float("inf"))
    return found.time_s, made.predicted_s


@needs_simgrid
@pytest.mark.usefixtures("simgrid")
@pytest.mark.parametrize(("workers", "ports"), [(4, 1), (8, 4), (8, 16)])
def test_one_server_takes_what_theory_says(workers: int, ports: int) -> None:
    centre = racks(1, workers + 1, rate_gbit_s=10, hop_us=1)
    time_s, model_s = simulated(centre, [f"h0:{ports}"])
    # Every worker's link carries S each way, every port N S / k.
    theory_s = SIZE / RATE * max(1.0, workers / ports)
    # What is above is the first chunks' way up, and the last ones' way down.
    assert theory_s < time_s < 1.1 * theory_s
    assert time_s == pytest.approx(model_s, rel=0.1)


@needs_simgrid
@pytest.mark.usefixtures("simgrid")
def test_several_servers_are_as_one_with_all_their_ports() -> None:
    centre = racks(1, 10, rate_gbit_s=10, hop_us=1)
    time_s, model_s = simulated(centre, ["h0:2", "h1:2"])
    assert time_s == pytest.approx(SIZE / RATE * 8 / 4, rel=0.05)
    assert time_s == pytest.approx(model_s, rel=0.05)


@needs_simgrid
@pytest.mark.usefixtures("simgrid")
@pytest.mark.parametrize(
    ("between", "oversubscription", "from_racks", "most", "of_model"),
    [("star", 4.0, 1.5, 1.1, 0.1), ("chain", 1.0, 2.0, 1.15, 0.1), ("ring", 4.0, 1.5, 1.5, 0.35)],
)
def test_a_server_in_each_rack(
    between: str, oversubscription: float, from_racks: float, most: float, of_model: float
) -> None:
    """Around a ring chunks wait for each other at every server, which the model does not see."""
    centre = racks(4, 5, rate_gbit_s=10, hop_us=1, oversubscription=oversubscription)
    servers = [f"h{rack * 5:02}:4" for rack in range(4)]
    time_s, model_s = simulated(centre, servers, f"hub-{between}")
    # Four ports take what four workers push, and what comes from other racks' servers.
    at_ports, at_uplinks = (4.0 + from_racks) / 4.0, from_racks * oversubscription / 5.0
    least_s = SIZE / RATE * max(at_ports, at_uplinks)
    assert least_s < time_s < most * least_s
    assert model_s == pytest.approx(time_s, rel=of_model)


@needs_simgrid
@pytest.mark.usefixtures("simgrid")
def test_ports_carry_what_is_told() -> None:
    centre = racks(1, 5, rate_gbit_s=10, hop_us=1)
    time_s, model_s = simulated(centre, ["h0:2@5gbit"])
    assert time_s == pytest.approx(SIZE / RATE * 4, rel=0.05)
    assert time_s == pytest.approx(model_s, rel=0.05)


@needs_simgrid
@pytest.mark.usefixtures("simgrid")
def test_servers_of_a_fat_tree_have_a_port_each() -> None:
    centre = fat_tree([8, 2], [1, 8], [1, 1], rate_gbit_s=10, hop_us=1)
    time_s, _ = simulated(centre, ["h00", "h08"])
    # The routes of a fat tree are fixed: some of its links carry two flows, others none.
    assert 7.0 <= time_s * RATE / SIZE < 15.0
    with pytest.raises(PlinkError, match="one link of the usual rate"):
        simulated(centre, ["h00:2", "h08"])
    with pytest.raises(PlinkError, match="one link of the usual rate"):
        simulated(centre, ["h00@25gbit", "h08@25gbit"])


def test_ports_are_links_of_their_own_where_their_server_is() -> None:
    centre = racks(2, 4, rate_gbit_s=10, hop_us=1)
    asked = PlanRequest(kind="ps", size=SIZE, servers=["h2:3@5gbit"])
    plan = find_plan(centre.cluster, asked).plan
    told = through_servers(centre.cluster, plan, SIZE, centre.platform, ["h2:3@5gbit"])
    assert isinstance(told.platform, Zones)
    assert isinstance(centre.platform, Zones)
    assert told.platform.hosts == 7 + 3
    rack_of_server = centre.platform.zone_of[2]
    assert (told.platform.zone_of[7:] == rack_of_server).all()
    assert np.allclose(told.platform.send_bytes_s[7:], RATE / 2)
    assert np.allclose(told.platform.receive_bytes_s[:7], RATE)
    # A plan alone says how its ports compare, not what they carry.
    alone = through_servers(centre.cluster, plan, SIZE, centre.platform)
    assert isinstance(alone.platform, Zones)
    assert np.allclose(alone.platform.send_bytes_s[7:], RATE)
    with pytest.raises(PlinkError, match="the plan has a server h2 with 3 ports"):
        through_servers(centre.cluster, plan, SIZE, centre.platform, ["h2:2"])
    # All that workers push arrives at ports, and all comes back.
    sent = told.schedule.bytes_between()
    assert sent[:7, 7:].sum() == pytest.approx(7 * SIZE, rel=1e-6)
    assert sent[7:, :7].sum() == pytest.approx(7 * SIZE, rel=1e-6)
    assert sent[:7, :7].sum() == sent[7:, 7:].sum() == 0


@needs_simgrid
@pytest.mark.usefixtures("simgrid")
def test_the_command_takes_a_plan_with_servers(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    centre = racks(2, 5, rate_gbit_s=10, hop_us=1, oversubscription=2.0)
    cluster, plan = str(tmp_path / "cluster.json"), str(tmp_path / "plan.json")
    cluster_file.write_cluster(cluster, centre.cluster)
    servers = ["--servers", "h0:4,h5:4"]
    wanted = ["--size", "4MB", "--kind", "hub", "-o", plan]
    assert run(["plan", cluster, *servers, *wanted]) == 0
    assert plan_file.read_plan(plan, with_servers=True).has_servers
    capsys.readouterr()
    assert run(["simulate", plan, "--cluster", cluster, "--json"]) == 0
    (row,) = json.loads(capsys.readouterr().out)["rows"]
    assert row["algorithm"].startswith("hub-")
    assert row["order"]["predicted_s"] == pytest.approx(row["order"]["simulated_s"], rel=0.2)
    # In place of the file: the same network described, with the plans that need no server.
    described = ["--racks", "2", "--hosts", "5", "--oversubscription", "2", "--size", "4MB"]
    assert run(["simulate", *described, *servers, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    times = {each["algorithm"]: each["order"]["simulated_s"] for each in found["rows"]}
    assert list(times) == ["plan:ps", "plan:hub", "plan:cc", "plan:flat", "plan:2lha", "plan:ring"]
    assert times["plan:hub"] == pytest.approx(row["order"]["simulated_s"], rel=0.02)
    assert times["plan:cc"] > 2 * times["plan:hub"]


def test_a_plan_with_servers_is_traced_by_hosts(tmp_path: Path) -> None:
    centre = racks(1, 5, rate_gbit_s=10, hop_us=1)
    cluster, plan = str(tmp_path / "cluster.json"), str(tmp_path / "plan.json")
    out = str(tmp_path / "job.goal")
    cluster_file.write_cluster(cluster, centre.cluster)
    wanted = ["--size", "1MB", "--kind", "ps", "-o", plan]
    assert run(["plan", cluster, "--servers", "h1:2", *wanted]) == 0
    assert run(["simulate", plan, "--cluster", cluster, "--trace", "goal", "-o", out]) == 0
    sent = files.read(out).bytes_between()
    # Host 1 is the server, whatever rank of the plan it is.
    expected = np.zeros((5, 5))
    expected[1, :] = expected[:, 1] = 1_000_000
    expected[1, 1] = 0
    assert np.allclose(sent, expected, atol=64)


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--algo", "openmpi-ring"], "openmpi-ring is of hosts that all take part"),
        (["--algo", "smpi:lr"], "smpi:lr is of hosts that all take part"),
        (["--algo", "plan:nothing"], "there is no plan of kind 'nothing'"),
        (["--algo", "plan:hub"], "all workers are in one group"),
        (["--servers", "h9", "--algo", "plan:ps"], "is not a host of"),
    ],
)
def test_wrong_use_is_a_sentence(
    words: list[str], says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    servers = [] if "--servers" in words else ["--servers", "h0"]
    assert run(["simulate", "--racks", "1", "--hosts", "4", *servers, *words]) == 2
    assert says in capsys.readouterr().err


def test_plans_without_servers_name_none(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["simulate", "--racks", "2", "--hosts", "4", "--algo", "plan:hub"]) == 2
    assert "there is no plan of kind 'hub' without servers" in capsys.readouterr().err
