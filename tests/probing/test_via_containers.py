"""Containers of podman, each in the network of a host of the lab, probed without SSH."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from labkit.wiring import namespace
from plink.formats import cluster as cluster_file
from support.lab import Lab
from support.needs import declared
from support.pairs import measured, pairs_among
from support.plink_command import plink_here
from support.require import require_root

pytestmark = [pytest.mark.lab, pytest.mark.needs("containers")]

# A kernel that lets nobody raise limits refuses podman's own.
LIMITS = ["--ulimit=nofile=1024:1024", "--ulimit=nproc=4096:4096"]


@pytest.fixture
def containers(lab: Lab, tmp_path: Path) -> Iterator[dict[str, str]]:
    """The address of each of two containers, which have a shell and little else."""
    declared("containers")
    require_root()
    missing = [name for name in ("podman", "runc", "busybox") if shutil.which(name) is None]
    if missing:
        pytest.skip(f"needs {', '.join(missing)}")
    names = {f"plink-{os.getpid()}-{host}": host for host in lab.names[:2]}
    try:
        for name, host in names.items():
            root = root_file_system(tmp_path / name)
            network = f"ns:/run/netns/{namespace(lab.name, host)}"
            # A limit of its own: it ends even if nobody is left to remove it.
            command = ["--rootfs", str(root), "/bin/sleep", "300"]
            podman("run", "-d", "--name", name, "--network", network, *LIMITS, *command)
        yield {name: lab.truth["addresses"][host] for name, host in names.items()}
    finally:
        for name in names:
            podman("rm", "--force", "--time", "0", name, check=False)


def root_file_system(folder: Path) -> Path:
    for name in ("bin", "dev", "etc", "proc", "sys", "tmp", "root"):
        (folder / name).mkdir(parents=True)
    busybox = folder / "bin" / "busybox"
    shutil.copy(shutil.which("busybox") or "", busybox)
    listed = subprocess.run([busybox, "--list"], capture_output=True, text=True, check=True)
    for applet in set(listed.stdout.split()) - {"busybox"}:
        (folder / "bin" / applet).symlink_to("busybox")
    return folder


def podman(*words: str, check: bool = True) -> None:
    done = subprocess.run(
        ["podman", "--runtime", "runc", *words], capture_output=True, text=True, check=False
    )
    assert not check or done.returncode == 0, done.stderr


def test_containers_are_probed_through_podman_exec_and_one_that_is_not_there_is_named(
    containers: dict[str, str], tmp_path: Path
) -> None:
    out = tmp_path / "c.json"
    options = ("--count", 100, "--passes", 1, "-o", out)
    hosts = "\n".join([*containers, "plink-lost"])
    done = plink_here("probe", "-", "--via", "podman exec -i {host}", *options, text=hosts)
    assert done.code == 3, done.stderr
    assert "plink-lost: it runs no POSIX shell (" in done.stderr
    assert "no such container" in done.stderr
    found = cluster_file.read_cluster(str(out))
    assert {host.name: host.address for host in found.hosts} == containers
    assert found.rtt is not None
    assert not found.rtt.failures
    assert measured(out) == pairs_among(list(containers))
