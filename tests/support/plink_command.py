"""The plink command as a user runs it, and what it leaves on hosts."""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

import click

from labkit.bound import BOUND
from labkit.namespaces import processes_in
from labkit.wiring import namespace
from plink.cli import cli, run
from support.lab import Lab
from support.schemas import check_printed

_PROGRESS = re.compile(r"[a-z ]+: \d+ of \d+ after \d+ s")

AGENT_NAMES = ("plink-echo-agent", "plink-dpdk-agent")


@dataclass(frozen=True)
class Done:
    """A command that ended."""

    code: int
    stdout: str
    stderr: str

    @property
    def notes(self) -> list[str]:
        """What standard error has but for progress, which is told of where a machine is slow."""
        return [line for line in self.stderr.splitlines() if not _PROGRESS.fullmatch(line)]


def plink_argv(*arguments: object) -> list[str]:
    """The command line of plink as installed, run by this Python. It ends with this process."""
    return [
        *BOUND,
        sys.executable,
        "-P" if sys.version_info >= (3, 11) else "-s",
        "-m",
        "plink",
        *map(str, arguments),
    ]


def plink(
    *arguments: object, text: str = "", env: Mapping[str, str] | None = None, timeout: float = 90
) -> Done:
    """Run plink to its end, outside the checkout."""
    done = subprocess.run(
        plink_argv(*arguments),
        input=text,
        capture_output=True,
        text=True,
        timeout=timeout,
        cwd="/",
        env={**os.environ, **(env or {})},
        check=False,
    )
    assert "Traceback" not in done.stderr
    check_printed(list(map(str, arguments)), done.stdout)
    return Done(done.returncode, done.stdout, done.stderr)


def plink_here(*arguments: object, text: str = "") -> Done:
    """Run plink to its end in this process, which is quicker where neither hosts nor signals are.

    The process's own input and outputs take no part.
    """
    stdin, stdout, stderr = (
        io.TextIOWrapper(io.BytesIO(part)) for part in (text.encode(), b"", b"")
    )
    with (
        mock.patch.object(sys, "stdin", stdin),
        contextlib.redirect_stdout(stdout),
        contextlib.redirect_stderr(stderr),
    ):
        code = run(list(map(str, arguments)))
    return Done(code, *(_written(stream) for stream in (stdout, stderr)))


def parse_command(verb: str, words: Sequence[str]) -> click.Context:
    """What plink makes of a verb's words, which click reads as of the whole command line."""
    root = cli.make_context("plink", [verb])
    command = cli.get_command(root, verb)
    assert command is not None
    return command.make_context(verb, list(words), parent=root)


def _written(stream: io.TextIOWrapper) -> str:
    stream.seek(0)
    return stream.read()


def forget_disturbance(path: Path) -> None:
    """Trust every reading of a cluster file, whatever else the machine had to do meanwhile."""
    data = read_json(path)
    data["rtt"].pop("disturbance", None)
    path.write_text(json.dumps(data))


def ssh_options(lab: Lab) -> Sequence[object]:
    """What reaches the lab's hosts."""
    return ("-F", lab.ssh_config)


def read_json(path: Path) -> dict[str, Any]:
    """A JSON file."""
    data: dict[str, Any] = json.loads(path.read_text())
    return data


def agents_on(lab: Lab, *hosts: str) -> list[int]:
    """The echo agents that run on some hosts of a lab."""
    found = []
    for pid in processes_in(namespace(lab.name, host) for host in hosts):
        with contextlib.suppress(OSError):
            if Path(f"/proc/{pid}/exe").readlink().name.startswith(AGENT_NAMES):
                found.append(pid)
    return found


def wait_until_no_agents(lab: Lab, seconds: float = 5.0) -> None:
    """Agents end when their session does, which takes a moment."""
    deadline = time.monotonic() + seconds
    while agents_on(lab, *lab.names):
        assert time.monotonic() < deadline, "echo agents are left on hosts"
        time.sleep(0.1)
