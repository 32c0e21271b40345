"""From a plan with servers to a service: what is taken, what is refused, and that it runs."""

from __future__ import annotations

import os
import select
import subprocess
from pathlib import Path

import numpy as np
import pytest

from hub.runs import MANIFEST
from plink.base.errors import WrongUseError
from plink.files import cluster as cluster_file
from plink.files import plan as plan_file
from plink.files.cluster import Cluster, Host
from plink.files.groups import Group
from plink.hub.planned import planned_service
from plink.hub.worker import Worker
from plink.transport.proofs import read_secret
from support.plink_command import plink_argv, plink_here


def planned(folder: Path, servers: str, *more: str) -> Path:
    """A plan for four hosts in two racks, some of which are servers."""
    hosts = [Host(f"h{number}", f"10.0.0.{number + 1}") for number in range(6)]
    groups = [Group("a", ["h0", "h1", "h2"]), Group("b", ["h3", "h4", "h5"])]
    cluster_file.write(str(folder / "cluster.json"), Cluster(hosts, groups=groups))
    path = folder / "plan.json"
    line = ("plan", str(folder / "cluster.json"), "--servers", servers, "--size", "1MB")
    done = plink_here(*line, *more, "-o", str(path))
    assert done.code == 0, done.stderr
    return path


def test_ports_weights_and_workers_are_the_plans(tmp_path: Path) -> None:
    path = planned(tmp_path, "h2:2@1gbit,h5=10.0.9.1+10.0.9.2@3gbit", "--kind", "ps")
    service = planned_service(plan_file.read(str(path), with_servers=True), "plan.json")
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


@pytest.mark.parametrize(
    ("servers", "kind", "said"),
    [
        ("h2:4,h5:4", "hub", "aggregate among each other"),
        ("h2", "ring", "this plan has no servers"),
    ],
)
def test_other_plans_are_refused(tmp_path: Path, servers: str, kind: str, said: str) -> None:
    path = planned(tmp_path, servers, "--kind", kind)
    for line in (
        ("serve", str(path), "--host", "h2", "--secret-file", str(tmp_path / "new")),
        ("delete", str(path), "--secret-file", str(tmp_path / "new")),
    ):
        done = plink_here("hub", *line)
        assert done.code == 2
        assert said in done.stderr
        assert "--kind ps" in done.stderr
    assert not (tmp_path / "new").exists()


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
            assert f"workers call {own}.1:7100" in made.stderr
            with Worker([f"{own}.1:7100"], "job", read_secret(workers), MANIFEST) as worker:
                # The plan's.
                assert worker.workers == 5
            for verb, said in (("checkpoint", "has no values yet"), ("delete", "job has ended")):
                done = plink_here("hub", verb, str(path), "--secret-file", secret)
                assert said in done.stdout + done.stderr
        finally:
            process.terminate()


def test_what_is_neither_an_address_nor_a_plan_is_refused(tmp_path: Path) -> None:
    secret = str(tmp_path / "secret")
    for line, said in (
        (("delete", "10.0.0.9"), "10.0.0.9: is neither HOST:PORT nor a plan's file"),
        (("serve",), "a server listens where --listen says, or where a plan does"),
        (("serve", "x.json", "--listen", "127.0.0.1:0"), "where --listen says, or where a plan"),
        (("create", "127.0.0.1:1", "--worker-secret-file", "x"), "--workers says how many"),
    ):
        done = plink_here("hub", *line, "--secret-file", secret)
        assert done.code == 2
        assert said in done.stderr
