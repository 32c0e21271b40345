"""Being on a host: its network, its host name, its /etc/hosts, and as its user."""

from __future__ import annotations

from collections.abc import Sequence

from labkit.state import State
from labkit.system import path_of
from labkit.wiring import namespace

PRIVATE_FOLDER = "private"
ETC_HOSTS = "etc_hosts"

# `ip netns exec` has already made a mount namespace, so the mount is seen by this host alone.
_SETTLE = 'hostname "$1" && mount --bind "$2" /etc/hosts && shift 2 && exec "$@"'


def host_command(state: State, host: str, argv: Sequence[str]) -> list[str]:
    """The command line that runs `argv` as if on the host."""
    hosts_file = state.directory / PRIVATE_FOLDER / ETC_HOSTS
    return [
        *(path_of("ip"), "netns", "exec", namespace(state.name, host)),
        *(path_of("unshare"), "--uts"),
        *("/bin/sh", "-c", _SETTLE, "lab", host, str(hosts_file)),
        *machine_command(state, argv),
    ]


def machine_command(state: State, argv: Sequence[str]) -> list[str]:
    """The command line that runs `argv` on the machine itself, as the user of the lab."""
    if not state.login.nested:
        return list(argv)
    user, group = f"--map-user={state.login.uid}", f"--map-group={state.login.gid}"
    return [path_of("unshare"), "--user", user, group, "--", *argv]
