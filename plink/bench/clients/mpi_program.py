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

_COMPILE_LIMIT_S = 120
_HELPER_MISSING = 90
_NOT_STORED = 91
# The program's own answer when it is called without arguments.
_PROGRAM_STARTS = 2

_CACHE = '"${XDG_CACHE_HOME:-$HOME/.cache}/plink"'


@dataclass(frozen=True)
class Program:
    """An executable, and the file name it has in every host's cache folder."""

    content: bytes
    name: str

    def command(self, arguments: Sequence[str]) -> list[str]:
        """The command that runs it on a host; the shell there knows where the cache is."""
        return ["sh", "-c", f'exec {_CACHE}/{self.name} "$@"', "plink-bench", *arguments]


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


def compile_program(compiler: str, folder: Path) -> Program:
    """Compile the program with an MPI compiler wrapper, using `folder` for its files.

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
    return Program(content, f"mpi_allreduce-{hashlib.sha256(content).hexdigest()[:16]}")


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
    done = session.run(_install_command(program, helper), stdin=program.content, timeout_s=60.0)
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
    if done.status == _NOT_STORED:
        raise HostError(session.host, f"the bench program cannot be stored ({reason})")
    raise HostError(session.host, f"the bench program cannot be started ({reason})")


def _install_command(program: Program, helper: str) -> str:
    # Written beside and renamed: hosts may share the folder, and runs may overlap.
    return f"""
command -v {shlex.quote(helper)} >/dev/null || exit {_HELPER_MISSING}
file={_CACHE}/{program.name}
if [ ! -x "$file" ]; then
    part="$file.$$.$(uname -n)"
    mkdir -p {_CACHE} && cat > "$part" && [ "$(wc -c < "$part")" -eq {len(program.content)} ] &&
        chmod 700 "$part" && mv "$part" "$file" || {{ rm -f "$part"; exit {_NOT_STORED}; }}
fi
exec "$file"
"""
