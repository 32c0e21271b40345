"""`sshd` in every host, with a key of its own."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from labkit import texts
from labkit.entry import host_command
from labkit.errors import LabError
from labkit.state import State
from labkit.system import path_of

# Where sshd confines its unprivileged half; Debian makes it only when the service starts.
SEPARATION_FOLDER = Path("/run/sshd")
PARALLEL_KEYGENS = 8


def make_keys(state: State, private: Path) -> dict[str, str]:
    """Make the user's key pair and every host's; return the public host keys by host name."""
    paths = {host.name: private / f"{host.name}.key" for host in state.topology.hosts}
    own = state.directory / "id_ed25519"
    waiting = [*paths.values(), own]
    running: list[subprocess.Popen[bytes]] = []
    keygen = path_of("ssh-keygen")
    while waiting or running:
        while waiting and len(running) < PARALLEL_KEYGENS:
            path = waiting.pop()
            argv = [
                keygen,
                "-q",
                "-t",
                "ed25519",
                "-N",
                "",
                "-C",
                f"lab {state.name}",
                "-f",
                str(path),
            ]
            running.append(subprocess.Popen(argv, stdin=subprocess.DEVNULL))
        if running.pop(0).wait() != 0:
            raise LabError(f"ssh-keygen could not write into {private}")
    (private / "authorized_keys").write_text(own.with_suffix(".pub").read_text())
    return {name: _public_key(path) for name, path in paths.items()}


def start_all(state: State, private: Path) -> None:
    """Start every host's `sshd`; return once all of them listen.

    Raises:
        LabError: names the first host whose `sshd` did not start, and why.
    """
    if os.geteuid() == 0:
        SEPARATION_FOLDER.mkdir(mode=0o755, exist_ok=True)
    config = private / "sshd_config"
    config.write_text(texts.sshd_config(private))
    sshd = path_of("sshd")
    starting = []
    for host in state.topology.hosts:
        argv = [sshd, "-f", str(config), *texts.sshd_options(host, private)]
        starting.append(
            (
                host,
                subprocess.Popen(
                    host_command(state, host.name, argv),
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.PIPE,
                    text=True,
                ),
            )
        )
    failed = None
    for host, process in starting:
        _, complaint = process.communicate()
        if process.returncode != 0 and failed is None:
            log = private / f"{host.name}.log"
            reason = (log.read_text() if log.exists() else "") or complaint
            failed = f"sshd of host {host.name} did not start: {reason.strip().splitlines()[-1:]}"
    if failed is not None:
        raise LabError(failed)


def _public_key(path: Path) -> str:
    kind, key, *_ = path.with_suffix(".key.pub").read_text().split()
    return f"{kind} {key}"
