"""The MPI program: compiled with the client's own wrapper, put on every host under its hash."""

from __future__ import annotations

import hashlib
import shlex
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

from plink.errors import PlinkError
from probes.errors import HostError
from probes.ssh.session import Session
from probes.ssh.shell import posix_command

_COMPILE_LIMIT_S = 120.0
_UPLOAD_LIMIT_S = 60.0
_HELPER_MISSING = 90
_NOT_STORED = 91
# The program's own answer when it is called without arguments.
_PROGRAM_STARTS = 2

_CACHE = '"${XDG_CACHE_HOME:-$HOME/.cache}/plink"'

# $1 is the program's file name, $2 a program that the launcher needs, $3 the size in bytes.
# Written beside and renamed: hosts may share the folder, and runs may overlap.
_INSTALL = (
    f'command -v "$2" > /dev/null || exit {_HELPER_MISSING}; f=$d/$1; '
    'if [ ! -x "$f" ]; then umask 077; '
    f'mkdir -p "$d" && t=$(mktemp "$d/.upload.XXXXXX") || exit {_NOT_STORED}; '
    """trap 'rm -f "$t"' EXIT; """
    'cat > "$t" && [ "$(wc -c < "$t")" -eq "$3" ] && chmod 700 "$t" && mv "$t" "$f" || '
    f'exit {_NOT_STORED}; fi; exec "$f"'
)


@dataclass(frozen=True)
class Program:
    """An executable for the hosts.

    Args:
        content: the executable file.
        name: the file name it has on every host, which holds its hash.
        folder: where it is put on the hosts; None for the user's cache there.
    """

    content: bytes
    name: str
    folder: str | None

    def command(self, arguments: Sequence[str]) -> list[str]:
        """The command that runs it on a host; the shell there knows where the cache is."""
        script = f'd={self._place()}; f=$d/$1; shift; exec "$f" "$@"'
        return ["sh", "-c", script, "sh", self.name, *arguments]

    def install_command(self, helper: str) -> str:
        """The shell command that stores it from its standard input, and sees that it starts."""
        script = f"d={self._place()}; {_INSTALL}"
        return posix_command(script, self.name, helper, str(len(self.content)))

    def _place(self) -> str:
        return _CACHE if self.folder is None else shlex.quote(self.folder)


def find_tool(asked: str | None, candidates: Sequence[str], title: str, packages: str) -> str:
    """The first of `candidates` that is on PATH here, or the one asked for.

    Raises:
        PlinkError: there is none.
    """
    for candidate in [asked] if asked else candidates:
        if shutil.which(candidate):
            return candidate
    looked = asked or " and ".join(candidates)
    raise PlinkError(
        f"{title} is not complete on this machine: no {looked}",
        f"install {packages}, or name the tools with --mpicc and --mpirun",
    )


def compile_program(compiler: str, folder: Path, remote_folder: str | None) -> Program:
    """Compile the program with an MPI compiler wrapper.

    Args:
        compiler: the wrapper.
        folder: where source and executable may be written here.
        remote_folder: where the program goes on the hosts; None for the user's cache there.

    Raises:
        PlinkError: the compiler refuses.
    """
    source = resources.files("plink.bench.workers").joinpath("mpi_allreduce.c").read_bytes()
    (folder / "mpi_allreduce.c").write_bytes(source)
    command = [compiler, "-O2", "-std=gnu11", "-s", "-o", "mpi_allreduce", "mpi_allreduce.c"]
    try:
        done = subprocess.run(
            command, cwd=folder, capture_output=True, timeout=_COMPILE_LIMIT_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise PlinkError(f"{compiler} cannot be run: {error}") from None
    if done.returncode != 0:
        lines = done.stderr.decode(errors="replace").strip().splitlines()
        raise PlinkError(f"{compiler} failed: {lines[0] if lines else 'it said nothing'}")
    content = (folder / "mpi_allreduce").read_bytes()
    name = f"mpi_allreduce-{hashlib.sha256(content).hexdigest()[:16]}"
    return Program(content, name, remote_folder)


def install(session: Session, program: Program, helper: str, title: str, packages: str) -> None:
    """Put the program into the host's cache unless it is there, and see that it starts.

    Args:
        session: the host.
        program: what to put there.
        helper: a program that the launcher needs on the host.
        title: the client's name, for errors.
        packages: what to install where the client is missing.

    Raises:
        HostError: the client is not installed there, or the program cannot be stored or started.
    """
    done = session.run(program.install_command(helper), program.content, _UPLOAD_LIMIT_S)
    if done.status == _PROGRAM_STARTS:
        return
    told = done.stderr.splitlines()
    reason = told[-1] if told else f"status {done.status}"
    if done.status == _HELPER_MISSING or "shared librar" in done.stderr:
        missing = f"no {helper}" if done.status == _HELPER_MISSING else reason
        raise HostError(
            session.host,
            f"{title} is not installed there ({missing})",
            f"install {packages} on every host",
        )
    verb = "stored" if done.status == _NOT_STORED else "started"
    raise HostError(
        session.host,
        f"the bench program cannot be {verb} there ({reason})",
        "name a folder that programs may run from with --remote-cache",
    )
