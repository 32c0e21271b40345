"""Host as a host list names it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class ListedHost:
    """Host as a host list names it.

    Args:
        name: the name, alias or address as written, without user and port.
        user: the SSH user, or None to leave it to the SSH configuration.
        port: the SSH port, or None to leave it to the SSH configuration.
        slots: the number of ranks it takes.
        ssh_address: where SSH reached it before, for a name that cannot be resolved; or None.
        connect_to: the address to connect to in place of the name, which the list gives; or None.
        ssh_options: options of this host's SSH connection, as `ssh -o` takes them (`Key=value`).
        place: where it is listed (`hosts.txt:3`), for error messages.
    """

    name: str
    user: str | None = None
    port: int | None = None
    slots: int = 1
    ssh_address: str | None = None
    connect_to: str | None = None
    ssh_options: tuple[str, ...] = ()
    place: str = ""
