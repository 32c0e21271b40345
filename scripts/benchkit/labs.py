"""Where the ranks of a benchmark run: on hosts of a lab, or all on this one over loopback."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Protocol

from labkit.bound import BOUND
from labkit.holder import PROGRAM, hold_lab
from plink.probes.hosts.hostlist import parse_host_list_bytes
from plink.probes.options import SshOptions
from plink.probes.reach import Reached, reach

LOOPBACK = "loopback"


class Hosts(Protocol):
    """What ranks need to know of the hosts that they run on."""

    @property
    def addresses(self) -> Mapping[str, str]:
        """By host."""

    @property
    def racks(self) -> Mapping[str, str]:
        """By host."""

    @property
    def meeting_port(self) -> int:
        """Port of the first rank's store."""

    def command_on(self, host: str) -> list[str]:
        """What takes a command line to a host."""

    def in_rack_order(self) -> list[str]:
        """The hosts with racks in sequence: the best ring there is."""


@dataclass(frozen=True)
class BenchLab:
    """A standing lab: its name, its folder, and the rack and the address of every host."""

    name: str
    dir: Path
    racks: dict[str, str]
    addresses: dict[str, str]
    meeting_port: int = 29400

    def plink(self, *arguments: object, over_ssh: bool = True) -> subprocess.CompletedProcess[str]:
        """Run plink, `over_ssh` with the lab's configuration; its standard error is ours.

        Raises:
            subprocess.CalledProcessError: it failed.
        """
        argv = [*BOUND, sys.executable, "-m", "plink", *map(str, arguments)]
        if over_ssh:
            argv += ["-F", str(self.dir / "ssh_config")]
        # Elsewhere than in the checkout, whose packages would hide the installed ones.
        return subprocess.run(argv, check=True, text=True, stdout=subprocess.PIPE, cwd="/")

    def probe(self, *options: object) -> Path:
        """Probe all hosts; the cluster file."""
        cluster = self.dir / "cluster.json"
        self.plink("probe", self.dir / "hosts.txt", "-o", cluster, *options)
        return cluster

    def probe_with_uplinks(self, *grouping: object) -> Path:
        """Probe all hosts, group them with these options, measure uplinks; the cluster file."""
        cluster = self.probe()
        self.plink("group", cluster, *grouping, over_ssh=False)
        self.plink("probe", "--resume", cluster, "--tool", "uplinks")
        return cluster

    def write_groups(self) -> Path:
        """A file for `plink probe --groups`: the true racks."""
        groups: dict[str, list[str]] = {}
        for host, rack in self.racks.items():
            groups.setdefault(rack, []).append(host)
        path = self.dir / "groups.txt"
        path.write_text("\n".join(f"{rack}: {','.join(hosts)}" for rack, hosts in groups.items()))
        return path

    @contextmanager
    def reach(self) -> Iterator[Reached]:
        """Connections to every host, in the given order."""
        source = self.dir / "hosts.txt"
        listed = parse_host_list_bytes(source.read_bytes(), str(source))
        with reach(listed, SshOptions(config_file=str(self.dir / "ssh_config"))) as reached:
            yield reached

    def given(self) -> list[str]:
        """The hosts as they are listed."""
        return (self.dir / "hosts.txt").read_text().split()

    def command_on(self, host: str) -> list[str]:
        """What takes a command line to a host."""
        return [*PROGRAM, "exec", "--name", self.name, host, "--"]

    def in_rack_order(self) -> list[str]:
        """The hosts with racks in sequence."""
        return sorted(self.racks, key=lambda host: (self.racks[host], host))


@contextmanager
def bench_lab(*options: object) -> Iterator[BenchLab]:
    """A lab made with these options of `lab up`, taken down at the end, also after Ctrl-C.

    Raises:
        SystemExit: it did not go up; the message has the reason.
    """
    with ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="plink-bench-"))
        name = Path(folder).name[-12:].replace("_", "x")
        try:
            stack.enter_context(
                hold_lab(["--name", name, "--dir", f"{folder}/lab", *map(str, options)])
            )
        except RuntimeError as error:
            raise SystemExit(f"error: {error}") from None
        truth = json.loads(Path(folder, "lab", "truth.json").read_text())
        yield BenchLab(name, Path(folder, "lab"), truth["hosts"], truth["addresses"])


@dataclass(frozen=True)
class Loopback:
    """As many names for this host as there are ranks, half of them in each of two racks."""

    ranks: int

    @cached_property
    def meeting_port(self) -> int:
        """Port that nobody uses: others meet on this host, too."""
        with socket.create_server(("127.0.0.1", 0)) as free:
            return int(free.getsockname()[1])

    @property
    def addresses(self) -> Mapping[str, str]:
        """The same for all."""
        return dict.fromkeys(self.in_rack_order(), "127.0.0.1")

    @property
    def racks(self) -> Mapping[str, str]:
        """By name."""
        names = self.in_rack_order()
        return {name: f"r{2 * index // self.ranks}" for index, name in enumerate(names)}

    def command_on(self, _host: str) -> list[str]:
        """It is here."""
        return []

    def in_rack_order(self) -> list[str]:
        """A name for every rank."""
        return [f"rank{rank}" for rank in range(self.ranks)]


@contextmanager
def hosts_of(where: str, ranks: int, lab_options: Sequence[str]) -> Iterator[Hosts]:
    """`loopback`, or a lab of two racks whose hosts' links have the rate `where`."""
    if where == LOOPBACK:
        yield Loopback(ranks)
        return
    shape = ["--racks", "2", "--hosts", str(ranks // 2), "--host-rate", where, "--hops", "0"]
    with bench_lab(*shape, *lab_options) as lab:
        yield lab


def rack_numbers(hosts: Hosts) -> list[int]:
    """The rack of each host, with racks in sequence, from 0 on."""
    racks = sorted(set(hosts.racks.values()))
    return [racks.index(hosts.racks[name]) for name in hosts.in_rack_order()]
