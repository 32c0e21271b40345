"""The MPI program: compiled with the client's own wrapper, put on every host under its hash."""

from __future__ import annotations

import shlex
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

from plink.base.errors import PlinkError
from probes.errors import HostError
from probes.ssh.session import Session, posix_command
from probes.ssh.upload import Program, upload

_COMPILE_LIMIT_S = 120.0

_CACHE = '"${XDG_CACHE_HOME:-$HOME/.cache}/plink"'


@dataclass(frozen=True)
class MpiProgram:
    """An executable for the hosts.

    Args:
        executable: the program.
        folder: where it is put on the hosts; None for the user's cache there.
    """

    executable: Program
    folder: str | None

    def command(self, arguments: Sequence[str]) -> list[str]:
        """The command that runs it on a host; the shell there knows where the cache is."""
        place = _CACHE if self.folder is None else shlex.quote(self.folder)
        script = f'f={place}/$1; shift; exec "$f" "$@"'
        return ["sh", "-c", script, "sh", self.executable.file_name, *arguments]


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


def compile_program(compiler: str, folder: Path, remote_folder: str | None) -> MpiProgram:
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
    return MpiProgram(Program("mpi_allreduce", content), remote_folder)


def install(session: Session, program: MpiProgram, helper: str, title: str, packages: str) -> None:
    """Put the program on a host unless it is there, and see that it starts.

    Args:
        session: the host.
        program: what to put there.
        helper: a program that the launcher needs on the host.
        title: the client's name, for errors.
        packages: what to install where the client is missing.

    Raises:
        HostError: the client is not installed there, or the program cannot be stored or started.
    """
    if session.run(posix_command('command -v "$1" > /dev/null', helper)).status != 0:
        raise _not_installed(session.host, title, f"no {helper}", packages)
    try:
        upload(session, program.executable, program.folder)
    except HostError as error:
        if "shared librar" in str(error):
            raise _not_installed(session.host, title, str(error), packages) from None
        raise


def _not_installed(host: str, title: str, reason: str, packages: str) -> HostError:
    return HostError(
        host, f"{title} is not installed there ({reason})", f"install {packages} on every host"
    )
