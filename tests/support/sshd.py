"""A real sshd on loopback with a key of its own, and a port that never answers."""

from __future__ import annotations

import getpass
import os
import shutil
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from plink.probes.hosts.hostlist import ListedHost
from plink.probes.options import SshOptions
from plink.probes.ssh.config import SshConfig, Target
from support.ports import reserved_port

SSHD = shutil.which("sshd", path=f"{os.environ['PATH']}:/usr/sbin:/usr/local/sbin")


@dataclass(frozen=True)
class Sshd:
    """A running server: its port, a key it lets in, and its host key (`type base64`)."""

    folder: Path
    port: int
    key: Path
    host_key: str
    process: subprocess.Popen[bytes]

    @property
    def known(self) -> Path:
        return self.folder / "known_hosts"

    def options(self, *, lines: str = "", **others: object) -> SshOptions:
        """Options that know nothing of this machine's own SSH; `lines` go into the `Host *`."""
        config = self.folder / "config"
        config.write_text(
            f"Host *\n  HostName 127.0.0.1\n  Port {self.port}\n  User {getpass.getuser()}\n"
            f"  IdentityFile {self.key}\n  IdentitiesOnly yes\n"
            f"  UserKnownHostsFile {self.known}\n  GlobalKnownHostsFile none\n{lines}"
        )
        return SshOptions(config_file=str(config), **{"timeout_s": 5.0, **others})  # type: ignore[arg-type]

    def target(self, options: SshOptions, name: str = "here") -> Target:
        return SshConfig(options).target(ListedHost(name))

    def trust(self) -> None:
        """Put its host key among the known ones."""
        self.known.write_text(f"[127.0.0.1]:{self.port} {self.host_key}\n")


def make_key(file: Path, kind: str = "ed25519") -> Path:
    # Of RSA no more bits than are still trusted: more take seconds to find.
    bits = ["-b", "2048"] if kind == "rsa" else []
    subprocess.run(["ssh-keygen", "-q", "-t", kind, *bits, "-N", "", "-f", file], check=True)
    return file


@contextmanager
def running_sshd(folder: Path, more: Callable[[Path], str] = lambda _: "") -> Iterator[Sshd]:
    """An sshd that runs until the block is left; `more` makes lines of its configuration of the
    file of its host key.
    """
    host_key, key = make_key(folder / "host_key"), make_key(folder / "key")
    (folder / "authorized").write_text((folder / "key.pub").read_text())
    with reserved_port() as port, _running(folder, port, more(host_key)) as process:
        public = " ".join((folder / "host_key.pub").read_text().split()[:2])
        yield Sshd(folder, port, key, public, process)


@contextmanager
def _running(folder: Path, port: int, lines: str) -> Iterator[subprocess.Popen[bytes]]:
    assert SSHD is not None
    # A bash that another shell started reads no start files, which may be long and are not tested.
    (folder / "sshd_config").write_text(
        f"ListenAddress 127.0.0.1\nPort {port}\nHostKey {folder / 'host_key'}\nUsePAM no\n"
        f"PidFile none\nStrictModes no\nPermitRootLogin yes\nPasswordAuthentication no\n"
        f"AuthorizedKeysFile {folder}/authorized\nMaxStartups 100\n"
        f"SetEnv SHLVL=1\n{lines}"
    )
    if os.getuid() == 0:
        Path("/run/sshd").mkdir(exist_ok=True)
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen([SSHD, "-D", "-e", "-f", folder / "sshd_config"], stderr=log)
    try:
        _wait_for(process, port)
        yield process
    finally:
        process.kill()
        process.wait()


def _wait_for(process: subprocess.Popen[bytes], port: int) -> None:
    while process.poll() is None:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
        except OSError:
            time.sleep(0.05)
        else:
            return
    raise RuntimeError(f"sshd ended with status {process.returncode}; its log tells why")


@contextmanager
def mute_port() -> Iterator[int]:
    """A port that takes connections and says nothing."""
    with socket.create_server(("127.0.0.1", 0), backlog=64) as server:
        yield server.getsockname()[1]
