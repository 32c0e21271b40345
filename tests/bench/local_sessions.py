"""Bench hosts on loopback: real processes, without SSH in between."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from plink.deploy.remote.hosts import RemoteHost
from plink.formats.hosts import Host
from plink.probes.remote.session import Completed
from support.local_hosts import LocalProcess


@dataclass
class LocalSession:
    """What `Session` is over SSH."""

    host: str
    started: list[LocalProcess] = field(default_factory=list)

    def run(self, command: str, stdin: bytes = b"", timeout_s: float = 30.0) -> Completed:
        done = subprocess.run(
            ["sh", "-c", command], input=stdin, capture_output=True, timeout=timeout_s, check=False
        )
        return Completed(done.returncode, done.stdout, done.stderr.decode().strip())

    def start(self, command: str) -> LocalProcess:
        pipe = subprocess.PIPE
        # `exec`, so that the process is the command's own and not a shell's around it.
        process = subprocess.Popen(
            ["sh", "-c", f"exec {command}"], stdin=pipe, stdout=pipe, stderr=pipe, text=True
        )
        self.started.append(LocalProcess(self.host, process))
        return self.started[-1]


def local_remote_hosts(count: int) -> list[RemoteHost]:
    """`count` hosts that are all this machine."""
    return [
        RemoteHost(
            entry=Host(f"h{i}", "127.0.0.1"),
            session=cast("Any", LocalSession(f"h{i}")),
            hostname=f"h{i}",
            congestion_control="cubic",
            machine="here",
            interface="lo",
        )
        for i in range(count)
    ]


def process_of(host: RemoteHost) -> subprocess.Popen[str]:
    """What was last started on a host."""
    return cast("LocalSession", cast("Any", host.session)).started[-1].process


def wait_for_ends(hosts: Sequence[RemoteHost]) -> None:
    """Until what ran on each host has ended, as it does with its client."""
    for host in hosts:
        process = process_of(host)
        process.wait(timeout=100)
        assert process.stderr is not None
        process.stderr.close()
