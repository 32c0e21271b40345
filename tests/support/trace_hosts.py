"""Hosts to trace between with real workers and without SSH in between: of a lab, or on loopback."""

from __future__ import annotations

import contextlib
import platform
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from labkit.wiring import namespace
from plink.probes.facts import HostFacts
from plink.probes.hosts.hostlist import ListedHost
from plink.probes.options import TraceOptions
from plink.probes.reach import ReachedHost
from plink.probes.trace.tool import measure
from support.fake_python import REAL
from support.jobs import job_of
from support.lab import Lab
from support.local_hosts import ListSink, LocalProcess
from support.require import require_root

HEALTHY = f'exec {REAL} "$@"'


@dataclass
class ShellSession:
    """What `Session` is over SSH.

    Args:
        host: its name.
        python: the line of shell that stands for the host's interpreter, "$@" its arguments.
        place: what a command line begins with to run there.
    """

    host: str
    python: str
    place: Sequence[str] = ()
    started: list[LocalProcess] = field(default_factory=list)

    def start(self, command: str) -> LocalProcess:
        pipe = subprocess.PIPE
        script = f"python3() {{ {self.python}; }}\n{command.removeprefix('exec ')}"
        process = subprocess.Popen(
            [*self.place, "/bin/sh", "-c", script], stdin=pipe, stdout=pipe, stderr=pipe, text=True
        )
        self.started.append(LocalProcess(self.host, process, str, str))
        return self.started[-1]


@contextlib.contextmanager
def loopback_hosts(*pythons: str) -> Iterator[list[ReachedHost]]:
    """Hosts at 127.0.1.1, 127.0.1.2, ..., each with its interpreter. No worker may be left."""
    sessions = [ShellSession(f"h{i}", python) for i, python in enumerate(pythons)]
    with _hosts(sessions, [f"127.0.1.{i + 1}" for i in range(len(pythons))]) as hosts:
        yield hosts


@contextlib.contextmanager
def lab_hosts(lab: Lab, faults: Mapping[str, str] | None = None) -> Iterator[list[ReachedHost]]:
    """The hosts of a lab, in its order; some with another interpreter."""
    sessions = [
        ShellSession(
            name,
            (faults or {}).get(name, HEALTHY),
            ("ip", "netns", "exec", namespace(lab.name, name)),
        )
        for name in lab.names
    ]
    with _hosts(sessions, [lab.truth["addresses"][name] for name in lab.names]) as hosts:
        yield hosts


@contextlib.contextmanager
def _hosts(
    sessions: Sequence[ShellSession], addresses: Sequence[str]
) -> Iterator[list[ReachedHost]]:
    require_root()
    facts = HostFacts(platform.machine(), "here", 2, ())
    yield [
        ReachedHost(ListedHost(session.host), cast("Any", session), facts, address)
        for session, address in zip(sessions, addresses, strict=True)
    ]
    for session in sessions:
        for process in session.started:
            assert process.wait_for_exit(10) is not None


def trace_between(
    hosts: list[ReachedHost], *, max_hops: int = 5, port: int = 0, sink: ListSink | None = None
) -> ListSink:
    """One try for every hop, and little patience."""
    sink = sink or ListSink()
    options = TraceOptions(count=1, max_hops=max_hops, port=port)
    measure(job_of(options, hosts, 2, timeout_s=0.3), cast("Any", sink))
    return sink
