"""Enter a host: its network, its host name, its /etc/hosts, and as its user."""

from __future__ import annotations

from collections.abc import Sequence

from labkit.state import State
from labkit.system import path_of
from labkit.wiring import namespace

# What the machine itself is called where a host may be named.
MACHINE = "."
PRIVATE_FOLDER = "private"
# Files that a host sees in place of the machine's own.
ETC_HOSTS = "hosts"
ETC_SHADOW = "shadow"
# Empty: what the user's shell does at every start is the machine's affair. It costs time at every
# login, and may leave a lock behind when the lab ends it half-way.
SHELL_START = "bashrc"

# `ip netns exec` has already made a mount namespace, so the mounts are seen by this host alone.
_SETTLE = """
cover() { test ! -e "$1" || test ! -e "$2" || mount --bind "$1" "$2" || exit; }
hostname "$1" || exit
cover "$2/hosts" /etc/hosts
cover "$2/shadow" /etc/shadow
cover "$2/bashrc" "$3/.bashrc"
shift 3
exec "$@"
"""


def command_at(state: State, place: str, argv: Sequence[str]) -> list[str]:
    """The command line that runs `argv` as if on a host, or on the machine itself.

    Raises:
        WrongUseError: there is no such host.
    """
    if place == MACHINE:
        return machine_command(state, argv)
    return host_command(state, state.topology.host(place).name, argv)


def host_command(state: State, host: str, argv: Sequence[str]) -> list[str]:
    """The command line that runs `argv` as if on the host."""
    private = state.directory / PRIVATE_FOLDER
    return [
        *(path_of("ip"), "netns", "exec", namespace(state.name, host)),
        *(path_of("unshare"), "--uts"),
        *("/bin/sh", "-c", _SETTLE, "lab", host, str(private), state.login.home),
        *machine_command(state, argv),
    ]


def machine_command(state: State, argv: Sequence[str]) -> list[str]:
    """The command line that runs `argv` on the machine itself, as the user of the lab."""
    if not state.login.nested:
        return list(argv)
    user, group = f"--map-user={state.login.uid}", f"--map-group={state.login.gid}"
    return [path_of("unshare"), "--user", user, group, "--", *argv]
