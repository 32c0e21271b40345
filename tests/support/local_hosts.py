"""Hosts on loopback for the coordinator: real agents and real UDP, without SSH in between."""

from __future__ import annotations

import platform
import signal
import subprocess
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import plink.probes.echo
from plink.probes.errors import HostError
from plink.probes.facts import HostFacts
from plink.probes.hosts.hostlist import ListedHost
from plink.probes.reach import ReachedHost
from plink.probes.remote.session import Completed
from plink.probes.samples import HostLoss, PairLoss, RttReading

AGENT = Path(plink.probes.echo.__file__).parent / "bin" / "plink-echo-agent"
SECRET = "00112233445566778899aabbccddeeff"


def start_agent(argv: Sequence[str | Path] | None = None) -> subprocess.Popen[str]:
    """An agent, or what `argv` makes of one. It ends with its input, hence with this process."""
    pipe = subprocess.PIPE
    return subprocess.Popen(argv or [AGENT], stdin=pipe, stdout=pipe, stderr=pipe, text=True)


class LocalProcess:
    """What `RemoteProcess` is over SSH."""

    def __init__(
        self,
        host: str,
        process: subprocess.Popen[str],
        rewrite: Callable[[str], str] = str,
        rewrite_said: Callable[[str], str] = str,
    ) -> None:
        self.host = host
        self.process = process
        self._rewrite = rewrite
        self._rewrite_said = rewrite_said

    def write(self, text: str) -> None:
        assert self.process.stdin is not None
        text = self._rewrite(text)
        try:
            self.process.stdin.write(text)
            self.process.stdin.flush()
        except (OSError, ValueError):
            raise HostError(self.host, "the connection was lost") from None

    def lines(self) -> Iterator[str]:
        assert self.process.stdout is not None
        with self.process.stdout as stream:
            for line in stream:
                yield self._rewrite_said(line.rstrip("\n"))

    def stderr_tail(self) -> str:
        assert self.process.stderr is not None
        with self.process.stderr as stream:
            return (stream.read().strip().splitlines() or [""])[-1]

    def wait_for_exit(self, timeout_s: float) -> int | None:
        with suppress(subprocess.TimeoutExpired):
            return self.process.wait(timeout_s)
        return None

    def abandon(self) -> None:
        self.process.kill()

    def close(self) -> None:
        self.process.send_signal(signal.SIGCONT)
        assert self.process.stdin is not None
        with suppress(OSError):
            self.process.stdin.close()
        self.process.wait(10)


@dataclass
class LocalSession:
    """What `Session` is over SSH: finds the agent where it is installed."""

    host: str
    started: list[LocalProcess] = field(default_factory=list)
    # What the agent hears in place of what the coordinator says.
    rewrite: Callable[[str], str] = str
    # What the coordinator hears in place of what the agent says.
    rewrite_said: Callable[[str], str] = str

    def run(self, command: str, stdin: bytes = b"", timeout_s: float = 30.0) -> Completed:
        return Completed(0, f"plink-program:{AGENT}\n".encode(), "")

    def start(self, command: str) -> LocalProcess:
        process = LocalProcess(self.host, start_agent(), self.rewrite, self.rewrite_said)
        self.started.append(process)
        return self.started[-1]

    def agent(self) -> subprocess.Popen[str]:
        return self.started[-1].process


def local_hosts(count: int) -> list[ReachedHost]:
    """`count` hosts with the addresses 127.0.1.1, 127.0.1.2, ..."""
    facts = HostFacts(platform.machine(), "here", 2, ())
    return [
        ReachedHost(
            listed=ListedHost(f"h{i}"),
            session=cast("Any", LocalSession(f"h{i}")),
            facts=facts,
            address=f"127.0.1.{i + 1}",
        )
        for i in range(count)
    ]


@dataclass
class ListSink:
    """Keeps what a run yields; `on_reading` may disturb the run."""

    readings: list[RttReading] = field(default_factory=list)
    pair_losses: list[PairLoss] = field(default_factory=list)
    host_losses: list[HostLoss] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)
    on_reading: Any = None

    def reading(self, reading: RttReading) -> None:
        pair = (reading.source, reading.destination)
        self.readings = [r for r in self.readings if (r.source, r.destination) != pair]
        self.readings.append(reading)
        if self.on_reading is not None:
            self.on_reading(len(self.readings))

    def remark(self, text: str) -> None:
        self.remarks.append(text)

    def pair_lost(self, loss: PairLoss) -> None:
        self.pair_losses.append(loss)

    def host_lost(self, loss: HostLoss) -> None:
        self.host_losses.append(loss)

    def measured(self) -> set[tuple[int, int]]:
        return {(reading.source, reading.destination) for reading in self.readings}

    def lost(self) -> set[tuple[int, int]]:
        return {(loss.source, loss.destination) for loss in self.pair_losses}
