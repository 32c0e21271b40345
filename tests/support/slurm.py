"""Slurm in a lab: a slurmd in every host, the slurmctld in one of them.

Every daemon and command runs inside the lab's networks, so that nothing listens on the machine's
own addresses, for `auth/none` believes whoever asks. What runs in a lab ends with it.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import pytest

from plink.base.replacing import replace
from support.lab import Lab
from support.needs import declared

_LIMIT_S = 60
_PAUSE_S = 0.05
_PORT = 6817

# The hosts have no cgroup file system, which this plugin does without.
_CGROUP = "CgroupPlugin=cgroup/v1\n"
_CONF = """\
ClusterName=plink
SlurmctldHost={controller}({address})
SlurmctldPort={port}
SlurmdParameters=config_overrides
AuthType=auth/none
CredType=cred/none
SlurmUser=root
SlurmdUser=root
StateSaveLocation={folder}
SlurmdSpoolDir={folder}/%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/%n/slurmd.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/%n/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
MpiDefault=none
TopologyPlugin=topology/{topology}
PartitionName=all Nodes=ALL Default=YES
{more}
"""


@dataclass(frozen=True)
class Slurm:
    """A standing Slurm.

    Args:
        lab: it runs in.
        host: where commands run.
        conf: its slurm.conf.
    """

    lab: Lab
    host: str
    conf: Path

    def run(self, *words: str, check: bool = True) -> subprocess.CompletedProcess[str]:
        """Run a command of Slurm's, or one that starts them."""
        return self.lab.exec(self.host, ["env", f"SLURM_CONF={self.conf}", *words], check=check)


def require_slurm() -> None:
    """Skip unless Slurm's daemons and commands are installed."""
    declared("slurm")
    missing = [name for name in ("slurmctld", "slurmd", "srun") if shutil.which(name) is None]
    if missing:
        pytest.skip(f"needs {', '.join(missing)}")


def slurm_version() -> tuple[int, int]:
    """Year and month, which are Slurm's version."""
    said = subprocess.run(["slurmctld", "-V"], capture_output=True, text=True, check=True).stdout
    found = re.search(r"(\d+)\.(\d+)", said)
    assert found is not None, said
    return int(found[1]), int(found[2])


def start_slurm(
    lab: Lab, folder: Path, topology: str, files: Mapping[str, str], *, more: str = ""
) -> Slurm:
    """A Slurm of all hosts, each with two CPUs and ready for jobs."""
    slurm = start_controller(lab, folder, lab.names[0], topology, files, more=more)
    with ThreadPoolExecutor(len(lab.names)) as executor:
        # Listed, so that what fails is raised.
        list(executor.map(lambda name: replace(slurm, host=name).run("slurmd"), lab.names))
    # A state with a star is one of which the slurmctld has not yet heard.
    words = ["sinfo", "--noheader", "--Node", "--format=%t"]
    _wait_until(lambda: slurm.run(*words).stdout.split() == ["idle"] * len(lab.names), slurm)
    return slurm


def start_controller(
    lab: Lab,
    folder: Path,
    host: str,
    topology: str,
    files: Mapping[str, str],
    *,
    port: int = _PORT,
    more: str = "",
) -> Slurm:
    """A slurmctld that knows the hosts, of which none runs a slurmd yet.

    Args:
        lab: where.
        folder: empty, for all its files.
        host: that the slurmctld runs in.
        topology: the name of the plugin: tree, block.
        files: beside slurm.conf: their names and texts.
        port: of the host's, which no other slurmctld has.
        more: lines of slurm.conf.
    """
    folder.mkdir(exist_ok=True)
    addresses: dict[str, str] = lab.truth["addresses"]
    text = _CONF.format(
        controller=host,
        address=addresses[host],
        port=port,
        folder=folder,
        topology=topology,
        more=more,
    )
    for name in lab.names:
        text += f"NodeName={name} NodeAddr={addresses[name]} CPUs=2\n"
        (folder / name).mkdir()
    for file, content in {**files, "slurm.conf": text, "cgroup.conf": _CGROUP}.items():
        (folder / file).write_text(content)
    slurm = Slurm(lab, host, folder / "slurm.conf")
    slurm.run("slurmctld", "-i")
    _wait_until(lambda: " is UP" in slurm.run("scontrol", "ping", check=False).stdout, slurm)
    return slurm


def _wait_until(is_so: Callable[[], bool], slurm: Slurm) -> None:
    deadline = time.monotonic() + _LIMIT_S
    while not is_so():
        if time.monotonic() > deadline:
            logs = sorted(slurm.conf.parent.rglob("*.log"))
            said = "\n".join(f"{log}:\n{log.read_text()[-1000:]}" for log in logs)
            pytest.fail(f"Slurm is not ready after {_LIMIT_S} s\n{said}")
        time.sleep(_PAUSE_S)
