"""Hosts of the lab reached by a command, without SSH: by every verb that reaches hosts."""

from __future__ import annotations

import os
import shlex
import shutil
from pathlib import Path

import pytest

from plink.formats import cluster as cluster_file
from support.kubernetes import api_server, pod, require_kubectl
from support.lab import Lab
from support.plink_command import plink_here, read_json, wait_until_no_agents
from support.require import require_launcher

pytestmark = pytest.mark.lab


@pytest.fixture(scope="module")
def via(lab: Lab, tmp_path_factory: pytest.TempPathFactory) -> str:
    """For `--via`: a command that leads into a host, and starts no Python on the way."""
    name = lab.names[0]
    into = shlex.join(lab.command(name, [])).replace(name, '"$host"')
    enter = tmp_path_factory.mktemp("via") / "enter"
    enter.write_text(f'#!/bin/sh\nhost=$1; shift\nexec {into} "$@"\n')
    enter.chmod(0o755)
    return f"{enter} {{host}}"


@pytest.fixture(scope="module")
def probed(lab: Lab, via: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The cluster file of three hosts of the six, for `cluster`."""
    file = tmp_path_factory.mktemp("probed") / "c.json"
    options = ("--count", 100, "--passes", 1, "-o", file)
    done = plink_here("probe", "-", "--via", via, *options, text="\n".join(lab.names[:3]))
    assert done.code == 0, done.stderr
    wait_until_no_agents(lab)
    return file


@pytest.fixture
def cluster(probed: Path, tmp_path: Path) -> Path:
    """A copy of the cluster file of three hosts, probed without SSH."""
    return Path(shutil.copy(probed, tmp_path))


def test_probe_check_and_run(lab: Lab, via: str, cluster: Path, tmp_path: Path) -> None:
    found = cluster_file.read_cluster(str(cluster))
    assert found.rtt is not None
    assert not found.rtt.failures
    assert [host.address for host in found.hosts] == [
        lab.truth["addresses"][name] for name in lab.names[:3]
    ]
    assert found.way is not None
    assert found.way.via == via
    # What plink says next reaches the hosts in the same way.
    shown = plink_here("show", cluster).stdout
    assert shlex.quote(via) in " ".join(shown.split())

    checked = plink_here("check", cluster, "--via", via, "--json")
    assert checked.code in (0, 4), checked.stderr

    order = tmp_path / "order.json"
    assert plink_here("order", cluster, "--algo", "ring", "-o", order).code == 0
    done = plink_here("run", order, "--via", via, "--", "sh", "-c", 'echo "$RANK $(uname -n)"')
    assert done.code == 0, done.stderr
    names = [host["name"] for host in read_json(order)["hosts"]]
    ranked = [names[place] for place in read_json(order).get("order", range(3))]
    assert sorted(done.stdout.splitlines()) == [
        f"[{rank}] {rank} {name}" for rank, name in enumerate(ranked)
    ]


def test_transfers(via: str, cluster: Path) -> None:
    more = ("--tool", "iperf3", "--duration", "1", "--direction", "both", "--via", via)
    done = plink_here("probe", "--resume", cluster, *more)
    assert done.code == 0, done.stderr
    found = cluster_file.read_cluster(str(cluster))
    assert found.bandwidth is not None
    assert not found.bandwidth.failures


@pytest.mark.needs("mpi")
def test_launchers_get_there_too(
    lab: Lab, via: str, cluster: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    require_launcher("mpirun.openmpi")
    monkeypatch.setenv("OMPI_MCA_oob_tcp_if_include", lab.truth["subnet"])
    order = tmp_path / "order.json"
    assert plink_here("order", cluster, "--algo", "ring", "-o", order).code == 0
    done = plink_here("verify", order, "--launcher", "openmpi", "--via", via)
    assert done.stdout == "openmpi keeps the order: 3 ranks on 3 hosts\n", done.stderr


def test_options_of_ssh_beside_a_command_are_refused(lab: Lab, via: str) -> None:
    done = plink_here("probe", lab.hosts_file, "--via", via, "--user", "me", "-o", "-")
    assert done.code == 2
    assert "--user applies to SSH, and excludes --via" in done.stderr


def test_hosts_that_the_command_does_not_know_are_named(via: str, tmp_path: Path) -> None:
    done = plink_here("probe", "-", "--via", via, "-o", tmp_path / "c.json", text="lost1\nlost2\n")
    assert done.code == 1
    assert "lost1: it runs no POSIX shell (" in done.stderr


@pytest.mark.needs("kubernetes")
def test_pods_are_probed_by_their_labels(
    lab: Lab, via: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The real kubectl lists them; what it would run in them is run in hosts of the lab."""
    require_kubectl()
    real = shutil.which("kubectl")
    into = via.replace("{host}", '"$host"')
    wrapper = tmp_path / "kubectl"
    # kubectl exec -i -n NAMESPACE HOST -c CONTAINER -- COMMAND
    wrapper.write_text(
        f'#!/bin/sh\n[ "$1" = exec ] || exec {real} "$@"\nhost=$5\nshift 8\nexec {into} "$@"\n'
    )
    wrapper.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    names, out = lab.names[:3], tmp_path / "c.json"
    with api_server(tmp_path, "training") as server:
        monkeypatch.setenv("KUBECONFIG", str(server.config))
        for name in names:
            address = lab.truth["addresses"][name]
            labels = {"app": "gpt", "role": "worker"}
            server.objects["pods"].append(pod(name, address, "training", labels=labels, gpus=8))
        few = ("--count", "100", "--passes", "1", "-o", out)
        done = plink_here("probe", "k8s:training/app=gpt,role in (worker)", *few)
    assert done.code == 0, done.stderr
    found = cluster_file.read_cluster(str(out))
    assert found.rtt is not None
    assert not found.rtt.failures
    assert [host.name for host in found.hosts] == sorted(names)
    assert [host.slots for host in found.hosts] == [8, 8, 8]
    assert found.way is not None
    assert found.way.via == "kubectl exec -i -n training {host} -c main --"
