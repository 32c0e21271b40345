"""The commands, as root: on the machine, or inside the user namespace of `rootless`."""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path

from labkit import lifecycle, operations, report
from labkit.arguments import directory_of, environment_of, name_of, shape_of
from labkit.entry import command_at
from labkit.errors import LabError, UnreadableStateError
from labkit.interruptions import held_back
from labkit.login import Login, own_login
from labkit.rates import parse_rate
from labkit.registry import ROOT_REGISTRY, Registry
from labkit.state import State


def registry_of(arguments: argparse.Namespace) -> Registry:
    """Where the labs of this user are listed."""
    return Registry(ROOT_REGISTRY if arguments.inside is None else Path(arguments.inside[2]))


def find_lab(arguments: argparse.Namespace, registry: Registry) -> State:
    """The lab meant by `--name` or `--dir`.

    Raises:
        LabError: there is none.
    """
    if arguments.name is None and arguments.dir is not None:
        return registry.find_by_directory(directory_of(arguments))
    return registry.find(name_of(arguments))


def list_labs(arguments: argparse.Namespace, registry: Registry) -> list[State]:
    """The labs that `status` is asked about: one, or all. The unreadable are named on stderr."""
    if arguments.name is not None or arguments.dir is not None:
        return [find_lab(arguments, registry)]
    states = []
    for name in registry.names():
        try:
            states.append(registry.find(name))
        except LabError as error:
            print(f"warning: {error}", file=sys.stderr)
    return states


def hold() -> None:
    """Wait until standard input ends."""
    while os.read(sys.stdin.fileno(), 4096):
        pass


def _up(arguments: argparse.Namespace) -> int:
    registry = registry_of(arguments)
    request = lifecycle.LabRequest(
        lab=name_of(arguments),
        directory=directory_of(arguments),
        shape=shape_of(arguments),
        seed=arguments.seed,
        login=_login(arguments),
        congestion_control=arguments.congestion_control,
        environment=environment_of(arguments),
    )
    state = lifecycle.up(registry, request)
    try:
        print(report.summary(state), flush=True)
        if arguments.hold:
            hold()
    finally:
        if arguments.hold:
            lifecycle.down_if_same(registry, state)
    return 0


def _down(arguments: argparse.Namespace) -> int:
    registry = registry_of(arguments)
    try:
        state = find_lab(arguments, registry)
    except UnreadableStateError as error:
        if arguments.name is None and arguments.dir is not None:
            # It is unknown which lab the folder belonged to, and another may have any name.
            raise LabError(
                str(error), "lab down --name NAME, with a name from lab status"
            ) from error
        # Namespaces are found by the lab's name alone; where its files are is unknown.
        lifecycle.down_unknown(registry, name_of(arguments))
        raise LabError(f"{error}; the lab is down, its files remain") from error
    lifecycle.down(registry, state)
    return 0


def _status(arguments: argparse.Namespace) -> int:
    registry = registry_of(arguments)
    states = list_labs(arguments, registry)
    show([(state, not operations.missing_namespaces(state)) for state in states], arguments.json)
    return 0


def show(labs: list[tuple[State, bool]], as_json: bool) -> None:
    """Print labs, each with whether it is complete."""
    if as_json:
        print(json.dumps([report.as_json(state, whole) for state, whole in labs], indent=1))
    else:
        tables = [report.table(state, whole) for state, whole in labs]
        print("\n\n".join(tables) or "no lab is up")


def _exec(arguments: argparse.Namespace) -> int:
    state = find_lab(arguments, registry_of(arguments))
    return _exec_command(state, arguments.host, arguments.argv)


def _shell(arguments: argparse.Namespace) -> int:
    state = find_lab(arguments, registry_of(arguments))
    return _exec_command(state, arguments.host, [os.environ.get("SHELL", "/bin/sh")])


def _exec_command(state: State, place: str, argv: list[str]) -> int:
    """Replace this program by a command in a place."""
    command = command_at(state, place, argv)
    try:
        os.execvp(command[0], command)
    except OSError as error:
        raise LabError(f"cannot run {command[0]}: {error.strerror}") from error


def _set(arguments: argparse.Namespace) -> int:
    registry = registry_of(arguments)
    rate_bits = parse_rate(arguments.rate)
    with registry.locked():
        operations.set_rate(registry, find_lab(arguments, registry), arguments.element, rate_bits)
    return 0


def _stop(arguments: argparse.Namespace) -> int:
    return _silence(arguments, silent=True)


def _start(arguments: argparse.Namespace) -> int:
    return _silence(arguments, silent=False)


def _silence(arguments: argparse.Namespace, *, silent: bool) -> int:
    registry = registry_of(arguments)
    with registry.locked():
        state = find_lab(arguments, registry)
        operations.set_silent(registry, state, arguments.host, silent=silent)
    return 0


def _move(arguments: argparse.Namespace) -> int:
    registry = registry_of(arguments)
    # Half a move is a port that nobody finds again.
    with held_back(), registry.locked():
        operations.move(registry, find_lab(arguments, registry), arguments.host, arguments.rack)
    return 0


def _login(arguments: argparse.Namespace) -> Login:
    if arguments.inside is None:
        return own_login(os.getuid(), os.getgid(), nested=False)
    uid, gid, _ = arguments.inside
    return own_login(int(uid), int(gid), nested=True)


COMMANDS = {
    "up": _up,
    "down": _down,
    "status": _status,
    "exec": _exec,
    "shell": _shell,
    "set": _set,
    "stop": _stop,
    "start": _start,
    "move": _move,
}
