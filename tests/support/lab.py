"""Labs for tests, taken down whatever happens to the test run.

with lab_cluster(racks=2, hosts=2) as lab:
    lab.exec(lab.names[0], ["hostname"])
"""

from __future__ import annotations

import contextlib
import functools
import itertools
import json
import os
import re
import shlex
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from labkit.entry import command_at
from labkit.holder import PROGRAM, hold_lab
from labkit.registry import ROOT_REGISTRY, Registry
from support.require import require_namespaces, require_root

EXEC_TIMEOUT_S = 60

_numbers = itertools.count(1)
# A lab of a test run is named after the run's process: t1234-1.
_NAME = re.compile(r"t(\d+)-\d+")


@dataclass(frozen=True)
class Lab:
    """A standing lab.

    Args:
        name: for `lab` itself.
        dir: the folder with its files.
        truth: `truth.json`: `truth["hosts"]` is host name to rack.
    """

    name: str
    dir: Path
    truth: dict[str, Any]

    @property
    def hosts_file(self) -> Path:
        """One host name a line, in the given order."""
        return self.dir / "hosts.txt"

    @property
    def ssh_config(self) -> Path:
        """For `ssh -F`."""
        return self.dir / "ssh_config"

    @property
    def via(self) -> str:
        """For `--via`: a command that leads into a host without SSH."""
        return shlex.join([*program(), "exec", "--name", self.name, "{host}", "--"])

    @property
    def names(self) -> list[str]:
        """The hosts, in the given order."""
        return self.hosts_file.read_text().split()

    @property
    def racks(self) -> dict[str, list[str]]:
        """Rack to its hosts: r1, r2, ..."""
        rack_of: dict[str, str] = self.truth["hosts"]
        names = sorted(set(rack_of.values()), key=lambda rack: int(rack.removeprefix("r")))
        return {rack: sorted(host for host in rack_of if rack_of[host] == rack) for rack in names}

    def route(self, source: str, destination: str) -> list[str]:
        """The true routers between two hosts: where packets reach them. None in the same rack."""
        rack_of = self.truth["hosts"]
        routers: list[str] = self.truth["routes"][rack_of[source]][rack_of[destination]]
        return routers

    def exec(
        self, host: str, argv: Sequence[str], *, text: str = "", check: bool = True
    ) -> subprocess.CompletedProcess[str]:
        """Run a command as if on the host, `text` on its standard input."""
        return subprocess.run(
            self.command(host, argv),
            input=text,
            capture_output=True,
            text=True,
            check=check,
            timeout=EXEC_TIMEOUT_S,
        )

    def command(self, host: str, argv: Sequence[str]) -> list[str]:
        """The command line that runs another one as if on the host.

        On `.` it runs on the machine itself, from where also the hosts of a lab without root are
        reached.
        """
        if os.geteuid() != 0:
            return [*program(), "exec", "--name", self.name, host, "--", *argv]
        return command_at(Registry(ROOT_REGISTRY).find(self.name), host, argv)

    def lab(self, command: str, *arguments: str) -> str:
        """Run another command of `lab`, such as `stop` or `set`; return what it prints."""
        argv = [*program(), command, "--name", self.name, *arguments]
        return subprocess.run(argv, capture_output=True, text=True, check=True).stdout


def program() -> list[str]:
    """The command line of `scripts/lab`, run by this very Python."""
    return list(PROGRAM)


@contextlib.contextmanager
def lab_cluster(
    racks: int | None = 2,
    hosts: int | str = 2,
    *,
    host_rate: str = "400mbit",
    uplink_rate: str = "400mbit",
    hops: int = 4,
    seed: int = 1,
    topology: Path | None = None,
    options: Sequence[str] = (),
    reached_from_here: bool = True,
) -> Iterator[Lab]:
    """Put a lab up for a while. It goes down with this process, however that ends.

    Args:
        racks: how many; None where `hosts` names one number for each rack, as `3,5,8`.
        hosts: in every rack, or in each.
        host_rate: of every host's link, such as `400mbit` or `none`.
        uplink_rate: of every rack's uplink.
        hops: extra switches on each rack's way to the spine.
        seed: shuffles names, addresses and the given order.
        topology: a file instead of all the above but the seed.
        options: further options of `lab up`.
        reached_from_here: whether the test itself opens connections to the hosts, which takes root;
            otherwise it does all by `Lab.exec`.
    """
    if reached_from_here:
        require_root()
    else:
        require_namespaces()
    _clear_remains()
    name = f"t{os.getpid()}-{next(_numbers)}"
    directory = Path(tempfile.gettempdir(), f"plink-lab-{name}")
    if topology is not None:
        shape = ["--topology", str(topology)]
    else:
        shape = [] if racks is None else ["--racks", str(racks)]
        shape += ["--hosts", str(hosts), "--host-rate", host_rate, "--uplink-rate", uplink_rate]
        shape += ["--hops", str(hops)]
    shape += ["--seed", str(seed)]
    if run := os.environ.get("PLINK_TEST_RUN"):
        # By this scripts/test finds what a test left running on a host.
        shape += ["--set-env", f"PLINK_TEST_RUN={run}"]
    with hold_lab(["--name", name, "--dir", str(directory), *shape, *options]):
        truth = json.loads((directory / "truth.json").read_text())
        yield Lab(name, directory, truth)


@functools.cache
def _clear_remains() -> None:
    """Take down, once, the labs of test runs that are no more, where even the holder was killed."""
    listing = subprocess.run([*program(), "status", "--json"], capture_output=True, check=True)
    for lab in json.loads(listing.stdout):
        match = _NAME.fullmatch(lab["name"])
        if match and not Path("/proc", match[1]).exists():
            subprocess.run([*program(), "down", "--name", lab["name"]], check=False)
