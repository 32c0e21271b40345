"""The plink command as a user runs it, and what it leaves on hosts."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from labkit.bound import BOUND
from support.lab import Lab, program

AGENT_NAMES = ("plink-echo-agent", "plink-dpdk-agent")


@dataclass(frozen=True)
class Done:
    """A command that ended."""

    code: int
    stdout: str
    stderr: str


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
    return Done(done.returncode, done.stdout, done.stderr)


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


def agents_left() -> list[int]:
    """The echo agents that run anywhere on this machine."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            program = entry.name.isdigit() and (entry / "exe").readlink().name
            if program and program.startswith(AGENT_NAMES):
                found.append(int(entry.name))
        except OSError:
            continue
    return found


def agents_on(lab: Lab, host: str) -> list[int]:
    """The echo agents that run on one host of a lab."""
    there = _network_of_host(lab.name, host)
    return [pid for pid in agents_left() if _network_of(pid) == there]


def wait_until_no_agents(lab: Lab, seconds: float = 5.0) -> None:
    """Agents end when their session does, which takes a moment."""
    deadline = time.monotonic() + seconds
    while any(agents_on(lab, host) for host in lab.names):
        assert time.monotonic() < deadline, "echo agents are left on hosts"
        time.sleep(0.1)


@cache
def _network_of_host(lab_name: str, host: str) -> str:
    argv = [*program(), "exec", "--name", lab_name, host, "--", "readlink", "/proc/self/ns/net"]
    return subprocess.run(argv, capture_output=True, text=True, check=True).stdout.strip()


def _network_of(pid: int) -> str:
    try:
        return str(Path(f"/proc/{pid}/ns/net").readlink())
    except OSError:
        return ""
