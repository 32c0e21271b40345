"""Agents and prober as containers, on hosts of the lab: its racks become labels of nodes."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from engine import certificates
from kube.pods import Place, Spec, image_of_this_machine, podman, removed, words
from labkit.wiring import namespace
from plink.formats import cluster as cluster_file
from support.kubernetes_nodes import TOKEN, NodeServer, node_server
from support.lab import Lab, lab_cluster
from support.needs import declared
from support.plink_command import plink_here
from support.require import require_root
from support.running import wait_for

yaml = pytest.importorskip("yaml")

pytestmark = [pytest.mark.lab, pytest.mark.needs("containers")]

LEAF = "fabric.topograph.run/tier-0"
USER = 65532


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    declared("containers")
    require_root()
    missing = [name for name in ("podman", "runc") if shutil.which(name) is None]
    if missing:
        pytest.skip(f"needs {', '.join(missing)}")
    # Racks far apart, so that the load of other tests, which lengthens times, hides none.
    with lab_cluster(racks=2, hosts=3, hops=16) as lab:
        yield lab


@pytest.fixture
def manifests(tmp_path: Path) -> dict[str, Any]:
    """The objects that the verb writes, by kind, and the folder's secret."""
    folder = tmp_path / "manifests"
    done = plink_here("kube", "manifests", "-o", folder, "--image", "plink")
    assert done.code == 0, done.stderr
    files = [folder / "agents.yaml", folder / "probe.yaml"]
    found = [item for file in files for item in yaml.safe_load_all(file.read_text())]
    return {item["kind"]: item for item in found} | {"secret": folder / "secret"}


@pytest.fixture
def image(tmp_path: Path) -> list[str]:
    """A stand-in for plink's image, or the one that the environment names."""
    if name := os.environ.get("PLINK_TEST_IMAGE"):
        return ["--entrypoint=", name, "plink"]
    return image_of_this_machine(tmp_path / "root")


def mounted(folder: Path, **files: str) -> Path:
    """A volume that Kubernetes fills: for the group of the pod's user."""
    folder.mkdir()
    for name, text in files.items():
        file = folder / name.replace("_", ".")
        file.write_text(text)
        os.chown(file, 0, USER)
        file.chmod(0o440)
    return folder


@pytest.fixture
def secret(manifests: dict[str, Any], tmp_path: Path) -> Path:
    return mounted(tmp_path / "secret", secret=manifests["secret"].read_text())


def volume(folder: Path) -> Path:
    """An emptyDir: everybody may write there."""
    folder.mkdir(parents=True, exist_ok=True)
    os.chown(folder, 0, USER)
    folder.chmod(0o2777)
    return folder


@pytest.fixture
def agents(
    lab: Lab, manifests: dict[str, Any], image: list[str], secret: Path, tmp_path: Path
) -> Iterator[list[str]]:
    """A pod of the DaemonSet on every host of the lab; the names of the containers."""
    spec = manifests["DaemonSet"]["spec"]["template"]["spec"]
    (container,) = spec["containers"]
    names = [f"plink-{os.getpid()}-{host}" for host in lab.names]

    def start(name: str, host: str) -> None:
        place = Place(
            f"ns:/run/netns/{namespace(lab.name, host)}",
            {"spec.nodeName": host},
            {"secret": secret, "home": volume(tmp_path / "homes" / host)},
            {"plink-probe": lab.truth["machine_address"]},
        )
        podman("run", "--detach", "--name", name, *words(spec, container, place, image))

    with removed(names):
        with ThreadPoolExecutor() as pool:
            list(pool.map(start, names, lab.names))
        yield names


@pytest.fixture
def server(lab: Lab, tmp_path: Path) -> Iterator[NodeServer]:
    """An API server in which the hosts are nodes, with a certificate of an authority."""
    keys = Path(certificates.job(tmp_path / "certificates"), "host")
    both = tmp_path / "server.pem"
    both.write_text((keys / "certificate.pem").read_text() + (keys / "key.pem").read_text())
    with node_server(both) as server:
        for host in lab.names:
            server.add(host, lab.truth["addresses"][host])
        server.add("control-plane")
        yield server


@pytest.fixture
def run(
    lab: Lab, image: list[str], secret: Path, server: NodeServer, tmp_path: Path
) -> Callable[[Spec, Spec], subprocess.CompletedProcess[str]]:
    """Runs a container of the prober's pod to its end."""
    authority = tmp_path / "certificates" / "host" / "authority.pem"
    place = Place(
        "host",
        {"status.podIP": lab.truth["machine_address"]},
        {
            "secret": secret,
            "results": volume(tmp_path / "results"),
            "account": mounted(tmp_path / "account", token=TOKEN, ca_crt=authority.read_text()),
        },
        environment={
            "HOSTS": str(len(lab.names)),
            "KUBERNETES_SERVICE_HOST": "127.0.0.1",
            "KUBERNETES_SERVICE_PORT": server.url.rpartition(":")[2],
        },
    )

    def run_one(pod: Spec, container: Spec) -> subprocess.CompletedProcess[str]:
        name = f"plink-{os.getpid()}-{container['name']}"
        with removed([name]):
            return podman("run", "--name", name, *words(pod, container, place, image), check=False)

    return run_one


@pytest.mark.timeout(750)
def test_racks_become_labels(
    lab: Lab,
    agents: list[str],
    manifests: dict[str, Any],
    server: NodeServer,
    run: Callable[[Spec, Spec], subprocess.CompletedProcess[str]],
) -> None:
    pod = manifests["CronJob"]["spec"]["jobTemplate"]["spec"]["template"]["spec"]
    (probe,) = pod["initContainers"]
    containers = {each["name"]: each for each in pod["containers"]}

    probed = run(pod, probe)
    told = podman("logs", agents[0], check=False).stderr
    assert probed.returncode == 0, probed.stderr + told
    # An agent is the first process of its container, which is left what nobody else waits for.
    wait_for(lambda: "Z" not in podman("top", agents[0], "state").stdout.split())

    labelled = run(pod, containers["labels"])
    assert labelled.returncode == 0, labelled.stderr
    assert "6 nodes with labels, 6 changed" in labelled.stderr
    found: dict[str, set[str]] = {}
    for name, labels in server.labels(LEAF).items():
        for leaf in labels.values():
            found.setdefault(leaf, set()).add(name)
    assert sorted(map(sorted, found.values())) == sorted(lab.racks.values())

    printed = run(pod, containers["cluster"])
    cluster = cluster_file.parse_cluster(printed.stdout.encode(), "what is printed")
    assert {host.name: host.address for host in cluster.hosts} == lab.truth["addresses"]
    figures = run(pod, containers["metrics"])
    assert "plink_hosts 6.0\n" in figures.stdout
    assert 'plink_tier_domains{tier="0"} 2.0\n' in figures.stdout
