"""The user on a host."""

from __future__ import annotations

import pwd
from dataclasses import dataclass

from labkit.errors import LabError


@dataclass(frozen=True)
class Login:
    """The user of every host.

    Args:
        name: for `ssh`.
        uid: the same on the machine and on every host.
        gid: likewise.
        home: the user's home folder.
        nested: whether the lab is inside a user namespace, in which that user appears as root.
            An `sshd` that believes it is root wants to become other users, of which there are none:
            each host then is one user namespace deeper, where the user is its ordinary self.
    """

    name: str
    uid: int
    gid: int
    home: str
    nested: bool


def own_login(uid: int, gid: int, *, nested: bool) -> Login:
    """The login of a user of this machine.

    Raises:
        LabError: no user has the number, so `sshd` would refuse the login.
    """
    try:
        entry = pwd.getpwuid(uid)
    except KeyError:
        raise LabError(
            f"user id {uid} has no name on this machine", "sshd only accepts known users"
        ) from None
    return Login(entry.pw_name, uid, gid, entry.pw_dir, nested)
