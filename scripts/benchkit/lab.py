"""A lab for the length of a benchmark."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from labkit.bound import BOUND
from labkit.holder import PROGRAM, held
from probes.hosts.hostlist import parse_host_list_bytes
from probes.reach import Reached, reach
from probes.ssh.options import SshOptions

_SHAPE = ("racks", "hosts", "hops")


@dataclass(frozen=True)
class BenchLab:
    """A standing lab: its name, its folder, and the rack and the address of every host."""

    name: str
    dir: Path
    racks: dict[str, str]
    addresses: dict[str, str]

    def plink(self, *arguments: object, over_ssh: bool = True) -> subprocess.CompletedProcess[str]:
        """Run plink, `over_ssh` with the lab's configuration; its talk goes to standard error.

        Raises:
            subprocess.CalledProcessError: it failed.
        """
        argv = [*BOUND, sys.executable, "-m", "plink", *map(str, arguments)]
        if over_ssh:
            argv += ["-F", str(self.dir / "ssh_config")]
        # Elsewhere than in the checkout, whose packages would hide the installed ones.
        return subprocess.run(argv, check=True, text=True, stdout=subprocess.PIPE, cwd="/")

    @contextmanager
    def reach(self) -> Iterator[Reached]:
        """Connections to every host, in the given order."""
        source = self.dir / "hosts.txt"
        listed = parse_host_list_bytes(source.read_bytes(), str(source))
        with reach(listed, SshOptions(config_file=str(self.dir / "ssh_config"))) as reached:
            yield reached

    def command_on(self, host: str) -> list[str]:
        """What takes a command line to a host."""
        return [*PROGRAM, "exec", "--name", self.name, host, "--"]

    def in_rack_order(self) -> list[str]:
        """The hosts with racks in sequence: the best ring there is."""
        return sorted(self.racks, key=lambda host: (self.racks[host], host))


def add_shape(parser: argparse.ArgumentParser) -> None:
    """The options that say how large a lab is; `shape` reads them."""
    for option in _SHAPE:
        parser.add_argument(f"--{option}", default="4")


def shape(arguments: argparse.Namespace) -> list[str]:
    """What `bench_lab` takes for the options of `add_shape`."""
    return [word for option in _SHAPE for word in (f"--{option}", getattr(arguments, option))]


@contextmanager
def bench_lab(*options: object) -> Iterator[BenchLab]:
    """A lab made with these options of `lab up`, taken down at the end, also after Ctrl-C."""
    with tempfile.TemporaryDirectory(prefix="plink-bench-") as folder:
        name = Path(folder).name[-12:].replace("_", "x")
        with held(["--name", name, "--dir", f"{folder}/lab", *map(str, options)]):
            truth = json.loads(Path(folder, "lab", "truth.json").read_text())
            yield BenchLab(name, Path(folder, "lab"), truth["hosts"], truth["addresses"])
