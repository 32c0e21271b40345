"""From a listed host and `ssh_config` files to what a connection needs."""

from __future__ import annotations

import getpass
import glob
import os
import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import paramiko

from plink.probes.errors import OptionError, ProbesError, clean
from plink.probes.hosts.host import ListedHost
from plink.probes.hosts.hostlist import check_host
from plink.probes.hosts.names import MAX_PORT
from plink.probes.ssh.options import SshOptions
from plink.probes.ssh.reading import read_file

_USER_CONFIG = "~/.ssh/config"
_SYSTEM_CONFIG = "/etc/ssh/ssh_config"
_MAX_INCLUDE_DEPTH = 16
_MAX_JUMPS = 8
_USER_KNOWN = "~/.ssh/known_hosts ~/.ssh/known_hosts2"
_GLOBAL_KNOWN = "/etc/ssh/ssh_known_hosts /etc/ssh/ssh_known_hosts2"
_EVERY_HOST = "Host *"
_BLOCK = re.compile(r"\s*(host|match)[\s=].*", re.IGNORECASE)
_INCLUDE = re.compile(r"\s*include[\s=]+(.+)", re.IGNORECASE)


@dataclass(frozen=True)
class Target:
    """Everything needed to open one SSH connection.

    Args:
        name: the host's name in the host list.
        hostname: the name or address to connect to.
        host_key_name: the name under which its key stands in `known_hosts`.
        known_hosts_files: the user's own, then the system's.
        new_host_keys_file: where a key that is accepted is remembered, or None.
        jumps: the hosts to pass through, in order (ProxyJump).
        proxy_command: a command whose input and output are the connection, or None.
    """

    name: str
    hostname: str
    port: int
    user: str
    identity_files: tuple[str, ...]
    identities_only: bool
    host_key_name: str
    known_hosts_files: tuple[str, ...]
    accept_new_host_keys: bool
    new_host_keys_file: str | None
    jumps: tuple[Target, ...] = ()
    proxy_command: str | None = None


class SshConfig:
    """The SSH configuration of a run.

    Raises:
        OptionError: a named configuration or key file cannot be read or parsed.
    """

    def __init__(self, options: SshOptions) -> None:
        self._options = options
        if options.identity_file is not None and not os.path.isfile(  # noqa: PTH113  Path's own fails on names that are too long
            options.identity_file
        ):
            raise OptionError(f"{options.identity_file}: there is no such key file")
        if options.config_file is not None:
            text = _read(Path(options.config_file))
        else:
            files = (Path(_USER_CONFIG).expanduser(), Path(_SYSTEM_CONFIG))
            # Each file begins outside every block, whatever the one before it ends in.
            text = f"\n{_EVERY_HOST}\n".join(_read(file) for file in files if file.is_file())
        try:
            self._config = paramiko.SSHConfig.from_text(text)
        except Exception as error:
            place = options.config_file or _USER_CONFIG
            raise OptionError(
                f"{place}: not a valid SSH configuration ({clean(str(error))})"
            ) from None

    def target(self, listed: ListedHost) -> Target:
        """How to reach `listed`: the host list first, then options, then the configuration.

        Raises:
            HostListError: no host list could name such a host. The configuration hands its name
                to shells, so it is asked for nothing.
            OptionError: the configuration cannot be used for it.
        """
        check_host(listed)
        # paramiko asks for it too, whatever the user is, and says less when there is none.
        local_user = _local_user()
        try:
            return self._target(listed, local_user, depth=0)
        except ProbesError:
            raise
        except Exception as error:
            # paramiko's parser raises what it pleases on what it does not expect.
            reason = str(error) or type(error).__name__
            raise OptionError(
                f"the SSH configuration cannot be used for {listed.name} ({reason})"
            ) from None

    def _target(self, listed: ListedHost, local_user: str, depth: int) -> Target:
        if depth > _MAX_JUMPS:
            raise OptionError(f"the SSH configuration jumps in a circle at {listed.name}")
        found: Mapping[str, Any] = self._config.lookup(listed.name)
        hostname: str = found.get("hostname", listed.name)
        port = listed.port or _port(str(found.get("port", 22)), listed.name)
        user = listed.user or (None if depth else self._options.user) or found.get("user")
        alias: str | None = found.get("hostkeyalias")
        given = hostname if port == 22 else f"[{hostname}]:{port}"
        # What stands on the command line is for the hosts listed, as in OpenSSH.
        own_key = None if depth else self._options.identity_file
        user_files = _files(found, "userknownhostsfile", _USER_KNOWN)
        strict = str(found.get("stricthostkeychecking", "ask")).lower()
        return Target(
            name=listed.name,
            hostname=hostname,
            port=port,
            user=user or local_user,
            identity_files=(own_key,) if own_key else tuple(found.get("identityfile", ())),
            identities_only=own_key is not None or found.get("identitiesonly") == "yes",
            host_key_name=alias or given,
            known_hosts_files=(*user_files, *_files(found, "globalknownhostsfile", _GLOBAL_KNOWN)),
            new_host_keys_file=next(iter(user_files), None),
            accept_new_host_keys=self._options.accept_new_host_keys
            or strict in ("accept-new", "no", "off"),
            jumps=self._jumps(found.get("proxyjump"), local_user, depth),
            proxy_command=_proxy_command(found.get("proxycommand")),
        )

    def _jumps(self, chain: str | None, local_user: str, depth: int) -> tuple[Target, ...]:
        if chain is None or chain.lower() == "none":
            return ()
        return tuple(
            self._target(parse_jump(part.strip()), local_user, depth + 1)
            for part in chain.split(",")
        )


def parse_jump(text: str) -> ListedHost:
    """One link of a ProxyJump chain: `[ssh://][user@]host[:port]`, IPv6 in brackets.

    Raises:
        OptionError: not of that form.
    """
    match = re.fullmatch(
        r"(?:ssh://)?(?:(?P<user>[^@]+)@)?(?:\[(?P<v6>[^\]]+)\]|(?P<host>[^@:\s\[\]]+))"
        r"(?::(?P<port>\d{1,5}))?",
        text,
    )
    if match is None:
        raise OptionError(f"ProxyJump {text!r} is not of the form user@host:port")
    name = match["v6"] or match["host"]
    return ListedHost(name, user=match["user"], port=int(match["port"]) if match["port"] else None)


def _files(found: Mapping[str, Any], key: str, default: str) -> tuple[str, ...]:
    names = shlex.split(str(found.get(key, default)))
    return tuple(str(Path(name).expanduser()) for name in names if name.lower() != "none")


def _port(text: str, name: str) -> int:
    if not re.fullmatch(r"[0-9]{1,5}", text) or not 1 <= int(text) <= MAX_PORT:
        raise OptionError(f"the SSH configuration gives {name} the port {text[:40]!r}")
    return int(text)


def _local_user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        raise OptionError(
            "this user has no name on this machine", "set the environment variable LOGNAME"
        ) from None


def _proxy_command(command: str | None) -> str | None:
    return None if command is None or command.lower() == "none" else command


def _read(file: Path, depth: int = 0, block: str = _EVERY_HOST) -> str:
    """The text of a configuration file with its `Include`s expanded, which paramiko does not do.

    `block` is the Host or Match line under which the file stands. It is said again after an
    included file, whose last block would otherwise hold what follows.
    """
    if depth > _MAX_INCLUDE_DEPTH:
        raise OptionError(f"{file}: SSH configurations include each other in a circle")
    try:
        lines = read_file(str(file)).decode().splitlines()
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not text"
        raise OptionError(f"{file}: the SSH configuration cannot be read ({reason})") from None
    expanded: list[str] = []
    for line in lines:
        if _BLOCK.fullmatch(line):
            block = line
        match = _INCLUDE.fullmatch(line)
        if match is None:
            expanded.append(line)
            continue
        for included in _included(match[1], file):
            expanded += [_read(included, depth + 1, block), block]
    return "\n".join(expanded)


def _included(patterns: str, file: Path) -> list[Path]:
    base = Path("/etc/ssh") if str(file).startswith("/etc/ssh/") else Path("~/.ssh")
    try:
        absolute = [
            base.expanduser() / Path(pattern).expanduser() for pattern in shlex.split(patterns)
        ]
    except (ValueError, RuntimeError) as error:
        raise OptionError(f"{file}: an Include cannot be understood ({error})") from None
    return [Path(name) for path in absolute for name in sorted(glob.glob(str(path)))]  # noqa: PTH207
