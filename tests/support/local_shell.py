"""Hosts on loopback whose commands run in real shells, without SSH in between."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from plink.probes.errors import HostError
from plink.probes.facts import HostFacts
from plink.probes.hosts.hostlist import ListedHost
from plink.probes.reach import ReachedHost
from plink.probes.remote.session import LOST, Completed


class ShellProcess:
    """What `RemoteProcess` is over SSH."""

    def __init__(self, host: str, process: subprocess.Popen[str]) -> None:
        self.host = host
        self.process = process
        self._is_read = False

    def write(self, text: str) -> None:
        assert self.process.stdin is not None
        try:
            self.process.stdin.write(text)
            self.process.stdin.flush()
        except (OSError, ValueError):
            raise HostError(self.host, LOST) from None

    def lines(self) -> Iterator[str]:
        assert self.process.stdout is not None
        self._is_read = True
        if self.process.stdout.closed:
            return
        with self.process.stdout as stream:
            for line in stream:
                yield line.rstrip("\n")

    def abandon(self) -> None:
        self.process.kill()

    def close(self) -> None:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        with suppress(OSError):
            self.process.stdin.close()
        self.process.wait(10)
        if not self._is_read:
            self.process.stdout.close()


@dataclass
class ShellSession:
    """What `Session` is over SSH. `path` is searched for programs before all else."""

    host: str
    path: Sequence[Path] = ()
    started: list[ShellProcess] = field(default_factory=list)

    def run(self, command: str, stdin: bytes = b"", timeout_s: float = 30.0) -> Completed:
        done = subprocess.run(
            command,
            shell=True,
            input=stdin,
            capture_output=True,
            timeout=timeout_s,
            env=self._environment(),
            check=False,
        )
        return Completed(done.returncode, done.stdout, done.stderr.decode())

    def start(self, command: str, timeout_s: float = 30.0) -> ShellProcess:
        process = subprocess.Popen(
            command,
            shell=True,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=self._environment(),
        )
        self.started.append(ShellProcess(self.host, process))
        return self.started[-1]

    def _environment(self) -> dict[str, str]:
        return {**os.environ, "PATH": ":".join([*map(str, self.path), os.environ["PATH"]])}


def shell_hosts(count: int) -> list[ReachedHost]:
    """`count` hosts with the addresses 127.0.1.1, 127.0.1.2, ..."""
    facts = HostFacts("any", "here", 2, ())
    return [
        ReachedHost(
            listed=ListedHost(f"h{i}"),
            session=cast("Any", ShellSession(f"h{i}")),
            facts=facts,
            address=f"127.0.1.{i + 1}",
        )
        for i in range(count)
    ]


def program(folder: Path, name: str, script: str) -> Path:
    """A folder with a shell script that is called as some program is."""
    folder.mkdir()
    file = folder / name
    file.write_text(f"#!/bin/sh\n{script}")
    file.chmod(0o755)
    return folder
