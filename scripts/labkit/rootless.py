"""The commands of an ordinary user, whose lab lives in namespaces that a keeper holds.

Nothing but the user's own processes and files is touched. The hosts are reached from inside those
namespaces only: `lab shell`, or `lab exec . -- COMMAND`.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from pathlib import Path

from labkit import commands, lifecycle
from labkit.arguments import directory_of, environment_of, name_of, shape_of
from labkit.errors import LabError
from labkit.interruptions import held_back
from labkit.keeping import Keeper, end_keeper, is_alive, read_keeper, start_keeper, write_keeper
from labkit.login import own_login
from labkit.registry import ROOT_REGISTRY, Registry
from labkit.system import path_of, require_programs

# nsenter would leave us at the root of the file system.
_RETURN = 'cd "$1" && shift && exec "$@"'
LAB_PROGRAM = Path(__file__).resolve().parent.parent / "lab"


def own_registry() -> Registry:
    """Where this user's labs are listed.

    Raises:
        LabError: somebody else made the folder.
    """
    runtime = os.environ.get("XDG_RUNTIME_DIR", "")
    if runtime and os.access(runtime, os.W_OK):
        return Registry(Path(runtime, "plink-lab"))
    root = Path(f"/tmp/plink-lab-{os.getuid()}")  # noqa: S108 (its owner is checked)
    root.mkdir(mode=0o700, exist_ok=True)
    status = root.lstat()
    if root.is_symlink() or status.st_uid != os.getuid() or status.st_mode & 0o022:
        raise LabError(f"{root} belongs to another user", "set XDG_RUNTIME_DIR")
    return Registry(root)


def _up(arguments: argparse.Namespace) -> int:
    # What can be refused from here is refused before anything is made.
    require_programs()
    name = name_of(arguments)
    directory_of(arguments)
    shape_of(arguments)
    environment_of(arguments)
    own_login(os.getuid(), os.getgid(), nested=True)
    registry = own_registry()
    inner = [argument for argument in sys.argv[1:] if argument != "--hold"]
    keeper = process = None
    lasting = False
    try:
        with held_back():
            keeper = _claim(registry, name)
            process = subprocess.Popen(_inner_command(keeper, registry, inner))
        exit_code = process.wait()
        if exit_code == 0 and arguments.hold:
            commands.hold()
        lasting = exit_code == 0 and not arguments.hold
    finally:
        with held_back():
            if process is not None:
                process.kill()
                process.wait()
            if keeper is not None and not lasting:
                _remove(registry, name, keeper)
    return exit_code


def _down(arguments: argparse.Namespace) -> int:
    registry = own_registry()
    name = _name(arguments, registry)
    keeper = read_keeper(registry, name)
    if not registry.holds(name):
        raise _no_lab(name)
    _remove(registry, name, keeper)
    return 0


def _status(arguments: argparse.Namespace) -> int:
    registry = own_registry()
    states = commands.list_labs(arguments, registry)
    alive = [(state, _living_keeper(registry, state.name) is not None) for state in states]
    commands.show(alive, arguments.json)
    return 0


def _within(arguments: argparse.Namespace) -> int:
    """Run this very command line inside the lab's namespaces."""
    registry = own_registry()
    name = _name(arguments, registry)
    if not registry.holds(name):
        raise _no_lab(name)
    keeper = _living_keeper(registry, name)
    if keeper is None:
        raise LabError(f"lab {name} is gone because its keeper ended", f"lab down --name {name}")
    command = _inner_command(keeper, registry, sys.argv[1:])
    os.execv(command[0], command)


def _claim(registry: Registry, name: str) -> Keeper:
    with registry.locked():
        if registry.holds(name):
            raise LabError(f"lab {name} is up already", f"lab down --name {name}")
        return start_keeper(lambda keeper: write_keeper(registry, name, keeper))


def _remove(registry: Registry, name: str, keeper: Keeper | None) -> None:
    """End the lab's processes, and with them its namespaces; remove its files."""
    if keeper is not None:
        end_keeper(keeper)
    try:
        state = registry.read(name)
        if state is not None:
            lifecycle.remove_files(state)
    finally:
        registry.forget(name)


def _inner_command(keeper: Keeper, registry: Registry, argv: list[str]) -> list[str]:
    return [
        *(path_of("nsenter"), "--target", str(keeper.pid), "--user", "--preserve-credentials"),
        *("--net", "--mount", "--pid", "--"),
        *("/bin/sh", "-c", _RETURN, "lab", str(Path.cwd())),
        *(sys.executable, str(LAB_PROGRAM)),
        *("--inside", str(os.getuid()), str(os.getgid()), str(registry.root)),
        *argv,
    ]


def _living_keeper(registry: Registry, name: str) -> Keeper | None:
    keeper = read_keeper(registry, name)
    return keeper if keeper is not None and is_alive(keeper) else None


def _name(arguments: argparse.Namespace, registry: Registry) -> str:
    if arguments.name is None and arguments.dir is not None:
        return commands.find_lab(arguments, registry).name
    return name_of(arguments)


def _no_lab(name: str) -> LabError:
    if Registry(ROOT_REGISTRY).folder(name).exists():
        return LabError(f"lab {name} was created by root", "run this command as root too: sudo")
    return LabError(f"there is no lab {name}", "see lab status")


COMMANDS = {
    "up": _up,
    "down": _down,
    "status": _status,
    "exec": _within,
    "shell": _within,
    "set": _within,
    "stop": _within,
    "start": _within,
    "move": _within,
}
