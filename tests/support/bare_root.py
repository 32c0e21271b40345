"""A root file system with Python, the shared libraries that it needs, and a shell; nothing else.

No compiler, no headers, no OpenSSL: what is not in a wheel is missed there.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterable, Iterator
from pathlib import Path

_LIBRARY = re.compile(r"(?:=> )?(/\S+) \(0x[0-9a-f]+\)")
# What wheels of this kind may expect of a machine (PEP 600), besides what Python itself needs.
_EXPECTED = ("libstdc++.so.6", "libgcc_s.so.1", "libm.so.6", "libpthread.so.0", "librt.so.1")
# What they must bring.
_ABSENT = ("libssl", "libcrypto")
_FOLDERS = ("bin", "dev", "etc", "proc", "root", "run", "sys", "tmp")
_NOT_COPIED = shutil.ignore_patterns(
    *("__pycache__", "test", "tests", "site-packages", "dist-packages"),
    *("config-*", "ensurepip", "idlelib", "lib2to3", "tkinter", "turtledemo"),
)


def make_root(folder: Path, busybox: str) -> str:
    """Make it of the Python that runs this.

    Args:
        folder: becomes the root.
        busybox: statically linked.

    Returns:
        Where its Python is, as seen from within.
    """
    for name in _FOLDERS:
        (folder / name).mkdir(parents=True)
    _add_shell(folder, busybox)
    (folder / "etc" / "passwd").write_text("root:x:0:0::/root:/bin/sh\n")
    base = Path(sys.base_prefix)
    python = (base / "bin" / f"python3.{sys.version_info.minor}").resolve()
    # Of this Python, not of an environment that it has.
    places = {"base": str(base), "platbase": str(base), "installed_base": str(base)}
    library = Path(sysconfig.get_path("stdlib", vars=places))
    shutil.copytree(library, inside(folder, library), ignore=_NOT_COPIED, symlinks=True)
    _copy(folder, python)
    for needed in _needed([python, *library.glob("lib-dynload/*.so")]):
        if not needed.name.startswith(_ABSENT):
            _copy(folder, needed)
    return str(python)


def inside(root: Path, path: Path | str) -> Path:
    """Where a file of this machine is in a root."""
    return root / str(path).lstrip("/")


def _add_shell(folder: Path, busybox: str) -> None:
    program = folder / "bin" / "busybox"
    shutil.copy(busybox, program)
    listed = subprocess.run([program, "--list"], capture_output=True, text=True, check=True)
    for name in set(listed.stdout.split()) - {"busybox"}:
        (folder / "bin" / name).symlink_to("busybox")


def _copy(root: Path, file: Path) -> None:
    target = inside(root, file)
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(file, target)


def _needed(files: Iterable[Path]) -> Iterator[Path]:
    """The shared libraries of programs and modules, and those that wheels expect."""
    found: set[str] = set()
    for file in files:
        found.update(_LIBRARY.findall(_said(["ldd", str(file)])))
    near = {Path(name).parent for name in found}
    for name in _EXPECTED:
        found.update(str(place / name) for place in near if (place / name).exists())
    return map(Path, sorted(found))


def _said(command: list[str]) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout
