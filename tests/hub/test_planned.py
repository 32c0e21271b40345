"""From a plan with servers to a service: what is taken, what is refused, and that it runs."""

from __future__ import annotations

import contextlib
import os
import select
import subprocess
from pathlib import Path

import numpy as np
import pytest

from hub.runs import MANIFEST, Threads
from plink.base.errors import WrongUseError
from plink.base.replacing import replace
from plink.formats import cluster as cluster_file
from plink.formats import plan as plan_file
from plink.formats.cluster import Cluster
from plink.formats.hosts import Group, Host
from plink.hub.hyper import Hyper
from plink.hub.planned import planned_service
from plink.hub.worker import Worker
from plink.transport.proofs import make_secret, read_secret
from support.plink_command import plink_argv, plink_here


def planned(folder: Path, servers: str, *more: str) -> Path:
    """A plan for six hosts in two racks, some of which are servers."""
    folder.mkdir(exist_ok=True)
    hosts = [Host(f"h{number}", f"10.0.0.{number + 1}") for number in range(6)]
    groups = [Group("a", ["h0", "h1", "h2"]), Group("b", ["h3", "h4", "h5"])]
    cluster_file.write_cluster(str(folder / "cluster.json"), Cluster(hosts, groups=groups))
    path = folder / "plan.json"
    path.unlink(missing_ok=True)
    line = ("plan", str(folder / "cluster.json"), "--servers", servers, "--size", "1MB")
    done = plink_here(*line, *more, "-o", str(path))
    assert done.code == 0, done.stderr
    return path


def test_ports_weights_and_workers_are_the_plans(tmp_path: Path) -> None:
    path = planned(tmp_path, "h2:2@1gbit,h5=10.0.9.1+10.0.9.2@3gbit", "--kind", "ps")
    service = planned_service(plan_file.read_plan(str(path), with_servers=True), "plan.json")
    assert service.workers == 4
    assert [server.host for server in service.servers] == ["h2", "h5"]
    weights = np.concatenate([server.weights for server in service.servers])
    assert weights / weights.sum() == pytest.approx([1 / 8, 1 / 8, 3 / 8, 3 / 8])
    # Ports whose addresses nobody told are at the host's own.
    assert service.servers[0].listen() == ["10.0.0.3:7100", "10.0.0.3:7101"]
    assert service.servers[1].listen() == ["10.0.9.1:7100", "10.0.9.2:7100"]
    assert service.servers[1].listen(0) == ["10.0.9.1:0", "10.0.9.2:0"]
    with pytest.raises(WrongUseError, match="has no server on h0") as caught:
        service.server("h0", "plan.json")
    assert caught.value.hint == "its servers are on h2, h5"


def test_racks_of_a_plan_are_those_of_the_service(tmp_path: Path) -> None:
    path = planned(tmp_path, "h5=10.0.9.1+10.0.9.2,h2:2", "--kind", "hub")
    service = planned_service(plan_file.read_plan(str(path), with_servers=True), "plan.json")
    assert service.workers == 4
    by_host = {
        server.host: (hosts, server.listen())
        for server, hosts in zip(service.servers, service.racks, strict=True)
    }
    assert by_host == {
        "h2": (("h0", "h1"), ["10.0.0.3:7100", "10.0.0.3:7101"]),
        "h5": (("h3", "h4"), ["10.0.9.1:7100", "10.0.9.2:7100"]),
    }
    assert [service.servers[service.rack_of(host)].host for host in ("h1", "h3")] == ["h2", "h5"]
    with pytest.raises(WrongUseError, match="has the host h2"):
        service.rack_of("h2")


@pytest.mark.parametrize(
    ("servers", "more", "said", "hint"),
    [
        ("h2", ("--kind", "ring"), "this plan has no servers", "--servers"),
        ("h0,h1,h5", ("--kind", "hub"), "h2 sends to several servers", "one server in each"),
        ("h2:4,h5:2", ("--kind", "hub"), "h2 and h5 have other ports", "--kind ps"),
        ("h2@1gbit,h5", ("--kind", "ps", "--ranks-per-host", "2"), "add up before they send", ""),
        ("h2:2@1gbit,h5:2", ("--kind", "hub"), None, None),
    ],
)
def test_what_no_service_is_made_of_is_refused(
    tmp_path: Path, servers: str, more: tuple[str, ...], said: str | None, hint: str | None
) -> None:
    path = planned(tmp_path, servers, *more)
    if said is None or hint is None:
        # Quick in one rack and slow in the other: the roots take turns all the same.
        planned_service(plan_file.read_plan(str(path), with_servers=True), "plan.json")
        return
    for line in (
        ("serve", str(path), "--host", "h2", "--secret-file", str(tmp_path / "new")),
        ("delete", str(path), "--secret-file", str(tmp_path / "new")),
    ):
        done = plink_here("hub", *line)
        assert done.code == 2
        assert said in done.stderr
        assert hint in done.stderr
    assert not (tmp_path / "new").exists()


def test_servers_that_aggregate_in_a_ring_are_refused(tmp_path: Path) -> None:
    plan = plan_file.read_plan(str(planned(tmp_path, "h2,h5", "--kind", "hub")), with_servers=True)
    # Back along another way than there.
    down = plan.forest.broadcast_parents.copy()
    down[0, 0] = 5
    forest = replace(plan.forest, broadcast_parents=down)
    with pytest.raises(WrongUseError, match="along chains or rings"):
        planned_service(replace(plan, forest=forest), "plan.json")


def test_a_plan_is_served_created_used_saved_and_deleted(tmp_path: Path) -> None:
    own = f"127.{1 + os.getpid() % 250}.{os.getpid() // 250 % 250}"
    path = planned(tmp_path, f"h2={own}.1+{own}.2", "--kind", "ps")
    secret, workers = str(tmp_path / "hub.secret"), str(tmp_path / "job.secret")
    line = ["hub", "serve", path, "--host", "h2", "--secret-file", secret, "--cores", "1"]
    argv = plink_argv(*line, "--snapshots", tmp_path)
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            assert select.select([process.stdout], [], [], 30.0)[0]
            assert process.stdout.readline() == f"{own}.1:7100,{own}.2:7100\n"
            made = plink_here(
                *("hub", "create", str(path), "--optimizer", "none"),
                *("--secret-file", secret, "--worker-secret-file", workers),
            )
            assert made.code == 0, made.stderr
            assert f"workers connect to {own}.1:7100" in made.stderr
            with Worker([f"{own}.1:7100"], "job", read_secret(workers), MANIFEST) as worker:
                # The plan's.
                assert worker.workers == 5
            for verb, said in (("checkpoint", "has no values yet"), ("delete", "job has ended")):
                done = plink_here("hub", verb, str(path), "--secret-file", secret)
                assert said in done.stdout + done.stderr
        finally:
            process.terminate()


def test_a_plan_with_a_server_in_each_rack_is_served_created_and_used(tmp_path: Path) -> None:
    own = f"127.{1 + os.getpid() % 250}.{os.getpid() // 250 % 250}"
    path = planned(tmp_path, f"h2={own}.1,h5={own}.3+{own}.4", "--kind", "hub")
    assert "other ports" in plink_here("hub", "delete", str(path), "--secret-file", "x").stderr
    path = planned(tmp_path, f"h2={own}.1+{own}.2,h5={own}.3+{own}.4", "--kind", "hub")
    secret, workers = str(tmp_path / "hub.secret"), str(tmp_path / "job.secret")
    make_secret(secret)
    with contextlib.ExitStack() as stack:
        for host, first in (("h2", 1), ("h5", 3)):
            argv = plink_argv(
                *("hub", "serve", path, "--host", host, "--secret-file", secret, "--cores", "1"),
            )
            process = stack.enter_context(subprocess.Popen(argv, stdout=subprocess.PIPE, text=True))
            stack.callback(process.terminate)
            assert process.stdout is not None
            assert select.select([process.stdout], [], [], 30.0)[0]
            listening = f"{own}.{first}:7100,{own}.{first + 1}:7100\n"
            assert process.stdout.readline() == listening
        line = ("hub", "create", str(path), "--optimizer", "none", "--secret-file", secret)
        more = ("--worker-secret-file", workers)
        refused = plink_here(*line, *more, "--workers", "2")
        assert refused.code == 2
        assert "--workers cannot override" in refused.stderr
        made = plink_here(*line, *more)
        assert made.code == 0, made.stderr
        assert f"workers on h0, h1 connect to {own}.1:7100" in made.stderr
        assert f"workers on h3, h4 connect to {own}.3:7100" in made.stderr
        threads = Threads()

        def work(server: int) -> float:
            with Worker([f"{own}.{server}:7100"], "job", read_secret(workers), MANIFEST) as worker:
                worker.initialise(np.zeros(MANIFEST.items, np.float32))
                worker.gradients[:] = server
                assert worker.push_pull([Hyper()] * 2).workers == 4
                return float(worker.values.max())

        for server in (1, 1, 3, 3):
            threads.begin(lambda server=server: work(server))
        # The mean of all, in both racks.
        assert threads.join() == [2.0] * 4
        done = plink_here("hub", "delete", str(path), "--secret-file", secret)
        assert "job has ended" in done.stdout


def test_what_is_neither_an_address_nor_a_plan_is_refused(tmp_path: Path) -> None:
    secret = str(tmp_path / "secret")
    make_secret(secret)
    for line, said in (
        (("delete", "10.0.0.9"), "10.0.0.9: is neither an address"),
        (("serve",), "a server needs addresses, from --listen or from a plan"),
        (("serve", "x.json", "--listen", "127.0.0.1:0"), "from --listen or from a plan"),
        (("create", "127.0.0.1:1", "--worker-secret-file", "x"), "number of workers is missing"),
    ):
        done = plink_here("hub", *line, "--secret-file", secret)
        assert done.code == 2
        assert said in done.stderr
