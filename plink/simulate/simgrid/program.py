"""The program that simulates: compiled where it is first used, and kept for the next time."""

from __future__ import annotations

import functools
import hashlib
import importlib.resources
import os
import shutil
import stat
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path

from plink.base.errors import PlinkError

_PACKAGE = "libsimgrid-dev"
_COMPILER_PACKAGE = "g++"
_HEADER = "simgrid/version.h"
_COMPILE_S = 300.0
_PROGRAM = "simulator.cpp"
_HINT = "set XDG_CACHE_HOME to a folder that you may write to"
_SOURCES = (_PROGRAM, "network.hpp", "schedule.hpp")


def cache_folder() -> Path:
    """Return the folder of compiled programs: `$XDG_CACHE_HOME/plink`, or `~/.cache/plink`.

    Raises:
        PlinkError: this user has no home.
    """
    told = os.environ.get("XDG_CACHE_HOME")
    try:
        return Path(told or Path.home() / ".cache") / "plink"
    except RuntimeError:
        raise PlinkError("this user has no home folder to keep the simulator in", _HINT) from None


def version_of_simgrid(compiler: str) -> str | None:
    """Return the installed SimGrid's version, or None."""
    text = f"#include <{_HEADER}>\nSIMGRID_VERSION_MAJOR.SIMGRID_VERSION_MINOR\n"
    try:
        found = subprocess.run(
            [compiler, "-E", "-P", "-x", "c++", "-"],
            input=text,
            capture_output=True,
            text=True,
            timeout=60.0,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return "".join(found.stdout.split())


@functools.cache
def simulator() -> Path:
    """Return the program, compiled for the SimGrid that is installed.

    Raises:
        PlinkError: there is no SimGrid or compiler, or it does not compile.
    """
    compiler = shutil.which(os.environ.get("CXX") or "g++")
    if compiler is None:
        raise PlinkError(
            "there is no C++ compiler for SimGrid's programs",
            f"install {_COMPILER_PACKAGE} and {_PACKAGE}: apt-get install {_COMPILER_PACKAGE} "
            f"{_PACKAGE}",
        )
    version = version_of_simgrid(compiler)
    if version is None:
        raise PlinkError(
            "SimGrid is not installed", f"install {_PACKAGE}: apt-get install {_PACKAGE}"
        )
    folder = importlib.resources.files(__package__)
    sources = {name: folder.joinpath(name).read_bytes() for name in _SOURCES}
    # A home may be shared by machines of several kinds.
    parts = [*sources.values(), version.encode(), compiler.encode(), os.uname().machine.encode()]
    key = hashlib.sha256(b"\0".join(parts)).hexdigest()
    program = cache_folder().resolve() / f"simulator-{key[:24]}"
    try:
        if not program.exists():
            _compile(compiler, sources, program)
        _check_owner(program.parent)
        _check_owner(program)
    except OSError as error:
        reason = error.strerror or error
        raise PlinkError(f"{program.parent}: keeps no simulator: {reason}", _HINT) from None
    return program


def _check_owner(path: Path) -> None:
    """Refuse a program, or its folder, that another user than root and this one could replace.

    Raises:
        PlinkError: it belongs to somebody else, is a link, or others may write to it.
    """
    found = path.lstat()
    is_whole = stat.S_ISDIR(found.st_mode) or stat.S_ISREG(found.st_mode)
    if not is_whole or found.st_uid not in (0, os.geteuid()) or found.st_mode & 0o022:
        raise PlinkError(f"{path}: belongs to another user, or others may write to it", _HINT)


def _compile(compiler: str, sources: Mapping[str, bytes], program: Path) -> None:
    program.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    with tempfile.TemporaryDirectory(dir=program.parent) as folder:
        made = Path(folder) / "simulator"
        for name, text in sources.items():
            Path(folder, name).write_bytes(text)
        source = Path(folder, _PROGRAM)
        command = [compiler, "-std=c++17", "-O2", "-o", str(made), str(source), "-lsimgrid"]
        try:
            found = subprocess.run(
                command, capture_output=True, text=True, timeout=_COMPILE_S, check=False
            )
        except subprocess.TimeoutExpired:
            raise PlinkError(f"the simulator does not compile within {_COMPILE_S:g} s") from None
        if found.returncode:
            fault = next((line for line in found.stderr.splitlines() if "error" in line), "")
            raise PlinkError(
                f"the simulator does not compile with this SimGrid: {fault.strip()[:200]}",
                f"it was written for {_PACKAGE} 3.32",
            )
        # Whole or not at all, whoever else compiles it now.
        made.chmod(0o755)  # whatever the umask: others must not be able to write to it
        made.replace(program)
