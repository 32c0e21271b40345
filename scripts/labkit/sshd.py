"""`sshd` on every host, with a key of its own."""

from __future__ import annotations

import contextlib
import os
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path

from labkit import texts
from labkit.entry import host_command
from labkit.errors import LabError
from labkit.state import State
from labkit.system import path_of

# Where sshd confines its unprivileged half; Debian makes it only when the service starts.
SEPARATION_FOLDER = Path("/run/sshd")
SHADOW = Path("/etc/shadow")
PARALLEL_KEYGENS = 8


def make_keys(state: State, private: Path) -> dict[str, str]:
    """Make the user's key pair and every host's; return the public host keys by host name.

    Raises:
        LabError: a key could not be written.
    """
    paths = {host.name: private / f"{host.name}.key" for host in state.topology.hosts}
    own = state.directory / "id_ed25519"
    keygen = [path_of("ssh-keygen"), "-q", "-t", "ed25519", "-N", "", "-C", f"lab {state.name}"]
    waiting = [*paths.values(), own]
    running: list[subprocess.Popen[str]] = []
    with _none_outlives(running):
        while waiting or running:
            while waiting and len(running) < PARALLEL_KEYGENS:
                running.append(_start([*keygen, "-f", str(waiting.pop())]))
            if running[0].wait() != 0:
                raise LabError(f"ssh-keygen could not write into {private}")
            running.pop(0)
    (private / "authorized_keys").write_text(own.with_suffix(".pub").read_text())
    return {name: _public_key(path) for name, path in paths.items()}


def shadow_of_locked(state: State) -> str | None:
    """A password file for the hosts, None where the machine's own will do.

    Without PAM `sshd` turns away an account whose password is locked (`!`), as root's is on some
    systems, even with a key. In this file no account is locked and none has a password.
    """
    try:
        lines = SHADOW.read_text().splitlines()
    except OSError:
        # An ordinary user's `sshd` cannot read it either.
        return None
    entries = [line.split(":") for line in lines if ":" in line]
    if not any(name == state.login.name and word.startswith("!") for name, word, *_ in entries):
        return None
    return "".join(":".join([name, "*", *rest]) + "\n" for name, _, *rest in entries)


def start_all(state: State, private: Path, environment: Mapping[str, str]) -> None:
    """Start every host's `sshd`; return once all of them listen.

    `environment` is added to that of every session.

    Raises:
        LabError: names the first host whose `sshd` did not start, and why.
    """
    if os.geteuid() == 0:
        SEPARATION_FOLDER.mkdir(mode=0o755, exist_ok=True)
    config = private / "sshd_config"
    config.write_text(texts.sshd_config(private, environment))
    sshd = [path_of("sshd"), "-f", str(config)]
    starting: list[subprocess.Popen[str]] = []
    with _none_outlives(starting):
        for host in state.topology.hosts:
            argv = [*sshd, *texts.sshd_options(host, private)]
            starting.append(_start(host_command(state, host.name, argv)))
        # `sshd` goes into the background, and what we started ends, once it listens.
        for host, process in zip(state.topology.hosts, starting, strict=True):
            if process.wait() != 0:
                reason = _reason(process, private / f"{host.name}.log")
                raise LabError(f"sshd of host {host.name} did not start: {reason}")


@contextlib.contextmanager
def _none_outlives(processes: list[subprocess.Popen[str]]) -> Iterator[None]:
    """See every process ended: one that came late would settle in a lab that is gone."""
    try:
        yield
    finally:
        for process in processes:
            if process.poll() is None:
                process.kill()
            process.communicate()


def _start(argv: list[str]) -> subprocess.Popen[str]:
    return subprocess.Popen(
        argv,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )


def _reason(process: subprocess.Popen[str], log: Path) -> str:
    _, said = process.communicate()
    logged = log.read_text() if log.exists() else ""
    lines = (logged or said).strip().splitlines()
    return lines[-1] if lines else "no reason given"


def _public_key(path: Path) -> str:
    kind, key, *_ = path.with_suffix(".key.pub").read_text().split()
    return f"{kind} {key}"
