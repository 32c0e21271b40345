"""SSH options that a verb takes from the file that it reads."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import TypeVar

from plink.base.errors import WrongUseError
from plink.base.given_way import GivenWay
from plink.base.replacing import replace
from plink.probes.ssh.options import SshOptions

_Way = TypeVar("_Way")

_GIVE_IT = "give the SSH configuration with ssh_config=FILE"


def with_recorded(way: _Way, recorded: GivenWay | None, source: str) -> _Way | SshOptions:
    """Fill in SSH options that a file records and the user did not give.

    A command in place of SSH (`via`) is never taken from a file. An SSH configuration can name
    commands, too, so that one is taken only if nobody else can have written it.

    Args:
        way: how the hosts are to be reached, as it was given; returned as it is unless it is SSH.
        recorded: what the cluster or order file says of the run that measured the hosts.
        source: what errors call that file.

    Raises:
        WrongUseError: the file names an SSH configuration that is missing or not to be trusted.
    """
    if recorded is None or not isinstance(way, SshOptions):
        return way
    config = way.config_file
    if config is None and recorded.config is not None:
        config = recorded.config
        _refuse_untrusted(config, source)
    identity = way.identity_file
    if identity is None and recorded.identity is not None:
        identity = recorded.identity
        if not os.path.isfile(identity):  # noqa: PTH113  Path's own can fail
            raise WrongUseError(
                f"{source}: names the private key {identity}, which does not exist",
                "give the key with identity=KEY",
            )
    return replace(
        way,
        config_file=config,
        identity_file=identity,
        user=way.user or recorded.user,
    )


def _refuse_untrusted(config: str, source: str) -> None:
    named = f"{source}: names the SSH configuration {config}"
    if not Path(config).is_absolute():
        raise WrongUseError(
            f"{named}, which is a relative path, so it depends on the working folder", _GIVE_IT
        )
    try:
        found = os.stat(config)  # noqa: PTH116  Path's own hides some failures
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise WrongUseError(f"{named}, which cannot be read: {reason}", _GIVE_IT) from None
    if found.st_uid not in (0, os.geteuid()):
        raise WrongUseError(f"{named}, which belongs to another user", _GIVE_IT)
    if found.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise WrongUseError(f"{named}, which other users can write", _GIVE_IT)
