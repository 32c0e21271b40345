"""Where a benchmark's ranks run: on hosts of a lab, or all on this one, over loopback."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Protocol

from benchkit.lab import bench_lab

LOOPBACK = "loopback"


class Hosts(Protocol):
    """What is needed of `benchkit.lab.BenchLab`."""

    @property
    def addresses(self) -> Mapping[str, str]:
        """By host."""

    @property
    def racks(self) -> Mapping[str, str]:
        """By host."""

    def command_on(self, host: str) -> list[str]:
        """What takes a command line to a host."""

    def in_rack_order(self) -> list[str]:
        """The hosts with racks in sequence."""


@dataclass(frozen=True)
class Loopback:
    """As many names for this host as there are ranks, half of them in each of two racks."""

    ranks: int

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
