"""Connection settings of a listed host, by the OpenSSH client's reading of its configuration.

The OpenSSH client says what its configuration means (`ssh -G`), so that plink agrees with it. Where
there is no client, there must be no configuration.
"""

from __future__ import annotations

import errno
import getpass
import os
import pwd
import re
import shutil
import socket
import stat
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from plink.probes.errors import OptionError, clean
from plink.probes.hosts.hostlist import ListedHost, check_host
from plink.probes.options import SshOptions

_MOST_FILE_BYTES = 16 << 20


def read_file(path: str) -> bytes:
    """Return the bytes of a file or pipe of at most 16 MiB; empty for /dev/null.

    Raises:
        OSError: it cannot be read, is neither, or is too large; the reason is in `strerror`.
        ValueError: no file has such a name.
    """
    # Without O_NONBLOCK, to open a pipe would take until somebody writes to it.
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOCTTY | os.O_NONBLOCK)
    with os.fdopen(descriptor, "rb") as stream:
        status = os.fstat(descriptor)
        mode = status.st_mode
        # What SSH's users name for no configuration (`-F /dev/null`) and no known hosts.
        if stat.S_ISCHR(mode) and status.st_rdev == Path(os.devnull).stat().st_rdev:
            return b""
        if not (stat.S_ISREG(mode) or stat.S_ISFIFO(mode)):
            raise OSError(errno.ENODEV, "it is neither a file nor a pipe")
        os.set_blocking(descriptor, True)
        content = stream.read(_MOST_FILE_BYTES + 1)
    if len(content) > _MOST_FILE_BYTES:
        raise OSError(errno.EFBIG, f"the file is larger than {_MOST_FILE_BYTES >> 20} MiB")
    if stat.S_ISFIFO(mode) and not content:
        raise OSError(errno.EPIPE, "it is a pipe to which no process writes")
    return content


_USER_CONFIG = "~/.ssh/config"
_SYSTEM_CONFIG = "/etc/ssh/ssh_config"
_STDIN = "/dev/stdin"
_EXECUTING = "Executing command:"
_TIMEOUT_S = 60.0
_MAX_JUMPS = 8
_ACCEPTING = ("accept-new", "no", "off", "false")

# What `ssh -G` prints of a host without a configuration, as far as it is used here.
_DEFAULTS = {
    "port": ["22"],
    "userknownhostsfile": ["~/.ssh/known_hosts ~/.ssh/known_hosts2"],
    "globalknownhostsfile": ["/etc/ssh/ssh_known_hosts /etc/ssh/ssh_known_hosts2"],
}

# ssh_config(5), TOKENS and ENVIRONMENT VARIABLES.
_TOKEN = re.compile(r"%(.?)|\$\{([A-Za-z0-9_]+)\}")


@dataclass(frozen=True)
class Target:
    """Settings of one SSH connection: host name, port, user, keys and jump hosts.

    Args:
        host_key_name: the name under which its key stands in `known_hosts`.
        known_hosts_files: the user's own, then the system's.
        new_host_keys_file: where a key that is accepted is remembered, or None.
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
    """Reader of the OpenSSH configuration for the hosts of a run.

    Raises:
        OptionError: a file cannot be read, or there is a configuration and no OpenSSH client.
    """

    def __init__(self, options: SshOptions) -> None:
        self._options = options
        if options.identity_file is not None and not os.path.isfile(  # noqa: PTH113  Path's own fails on names that are too long
            options.identity_file
        ):
            raise OptionError(f"{options.identity_file}: there is no such key file")
        self._place = options.config_file or _USER_CONFIG
        # Named files are read once: they may be pipes.
        self._text: bytes | None = (
            None if options.config_file is None else _read_config(options.config_file)
        )
        # A file from elsewhere shall run nothing: this is the shell of its conditions.
        self._shell = {} if options.config_file is None else {"SHELL": "/bin/false"}
        # OpenSSH refuses to run for a user id without a name.
        self._can_ask = shutil.which("ssh") is not None and _find_user() is not None
        if not self._can_ask:
            text = _read_user_config() if self._text is None else self._text
            if re.search(rb"^[ \t]*[^#\s]", text, re.MULTILINE):
                raise OptionError(
                    f"{self._place}: reading an SSH configuration needs the OpenSSH client",
                    "install it (openssh-client), or use none with config_file=/dev/null",
                )
        elif self._text is None and not _is_found_by_the_client():
            self._text = _read_user_config() + f"\nMatch all\nInclude {_SYSTEM_CONFIG}\n".encode()

    def target(self, listed: ListedHost) -> Target:
        """Return a host's connection settings by host list, options and SSH configuration.

        Raises:
            HostListError: no host list could name such a host; its name goes to no shell.
            OptionError: the configuration cannot be used for it.
        """
        check_host(listed)
        return self._target(listed, depth=0)

    def _target(self, listed: ListedHost, depth: int) -> Target:
        if depth > _MAX_JUMPS:
            raise OptionError(
                f"the ProxyJump settings of the SSH configuration form a cycle at {listed.name}"
            )
        user = listed.user or (None if depth else self._options.user)
        settings = self._ask(
            listed.connect_to or listed.name, user, listed.port, listed.ssh_options
        )
        hostname, port, user = (settings[key][0] for key in ("hostname", "port", "user"))
        given = hostname if port == "22" else f"[{hostname}]:{port}"
        tokens = _list_tokens(listed.connect_to or listed.name, hostname, port, user, settings)
        # What stands on the command line is for the hosts listed, as in OpenSSH.
        own_key = None if depth else self._options.identity_file
        keys = tuple(_expand_tokens(key, tokens) for key in settings.get("identityfile", ()))
        user_files = _list_files(settings, "userknownhostsfile", tokens)
        strict = settings.get("stricthostkeychecking", ["ask"])[0].lower()
        return Target(
            name=listed.name,
            hostname=hostname,
            port=int(port),
            user=user,
            identity_files=(own_key,) if own_key else keys,
            identities_only=own_key is not None or settings.get("identitiesonly") == ["yes"],
            host_key_name=settings.get("hostkeyalias", [given])[0],
            known_hosts_files=(*user_files, *_list_files(settings, "globalknownhostsfile", tokens)),
            new_host_keys_file=next(iter(user_files), None),
            accept_new_host_keys=self._options.accept_new_host_keys or strict in _ACCEPTING,
            jumps=tuple(
                self._target(parse_jump(part.strip()), depth + 1)
                for part in settings.get("proxyjump", ["none"])[0].split(",")
                if part.lower() != "none"
            ),
            proxy_command=_proxy_command(settings, tokens),
        )

    def _ask(
        self, name: str, user: str | None, port: int | None, options: Sequence[str]
    ) -> Mapping[str, Sequence[str]]:
        """Return a host's settings by `ssh -G`: values by lower-case option name."""
        if not self._can_ask:
            asked = {"port": [str(port)]} if port else {}
            # The first value that an option gets counts, as in the client.
            parts = [option.partition("=") for option in reversed(options)]
            given = {key.lower(): [value] for key, _, value in parts}
            own = {"hostname": [name], "user": [user or _local_user()]}
            return {**_DEFAULTS, **given, **own, **asked}
        words = ["ssh", "-G", "-T", "-v"]
        words += ["-F", _STDIN] if self._text is not None else []
        words += ["-l", user] if user else []
        words += ["-p", str(port)] if port else []
        words += [word for option in options for word in ("-o", option)]
        # A file in memory, because the client reads it again for `Match final`.
        with os.fdopen(os.memfd_create("ssh_config"), "wb") as stdin:
            stdin.write(self._text or b"")
            stdin.flush()
            return self._answer([*words, "--", name], stdin, name)

    def _answer(
        self, words: Sequence[str], stdin: IO[bytes], name: str
    ) -> Mapping[str, Sequence[str]]:
        try:
            done = subprocess.run(
                words,
                stdin=stdin,
                capture_output=True,
                timeout=_TIMEOUT_S,
                check=False,
                env={**os.environ, **self._shell},
            )
        except subprocess.TimeoutExpired:
            raise OptionError(
                f"{self._place}: ssh -G {name} does not end within {_TIMEOUT_S:g} s"
            ) from None
        except OSError as error:
            raise OptionError(f"ssh cannot be run ({error.strerror})") from None
        messages = done.stderr.decode(errors="replace").splitlines()
        if self._shell and any(_EXECUTING in line for line in messages):
            raise OptionError(
                f"{self._place}: has a `Match exec`, but plink runs such commands only from "
                "~/.ssh/config",
                "give the hosts in question sections of their own, or put it into ~/.ssh/config",
            )
        if done.returncode != 0:
            errors = [line for line in messages if not line.startswith(("debug", "OpenSSH_"))]
            reason = (errors or [f"exit status {done.returncode}"])[0]
            reason = reason.removeprefix(_STDIN).strip(": \r")
            raise OptionError(
                f"{self._place}: ssh cannot use this configuration for {name} ({clean(reason)})"
            )
        settings: dict[str, list[str]] = {}
        for line in done.stdout.decode(errors="replace").splitlines():
            key, _, value = line.partition(" ")
            settings.setdefault(key, []).append(value)
        if not {"hostname", "port", "user"} <= settings.keys():
            raise OptionError(f"{self._place}: ssh -G {name} prints no settings of the host")
        return settings


def parse_jump(text: str) -> ListedHost:
    """Parse one hop of ProxyJump, `[ssh://][user@]host[:port]`; IPv6 stands in brackets.

    Raises:
        OptionError: not of that form.
    """
    match = re.fullmatch(
        r"(?:ssh://)?(?:(?P<user>[^@]+)@)?(?:\[(?P<v6>[^\]]+)\]|(?P<host>[^@:\s\[\]]+))"
        r"(?::(?P<port>\d{1,5}))?",
        text,
    )
    if match is None:
        raise OptionError(f"ProxyJump {text!r} is not of the form [user@]host[:port]")
    name = match["v6"] or match["host"]
    return ListedHost(name, user=match["user"], port=int(match["port"]) if match["port"] else None)


def _list_tokens(
    name: str, hostname: str, port: str, user: str, settings: Mapping[str, Sequence[str]]
) -> dict[str, str]:
    """Return the values of ssh_config's tokens such as %h, except %C, which differs by version."""
    own = socket.gethostname()
    return {
        "%": "%",
        "d": str(_find_home()),
        "h": hostname,
        "i": str(os.getuid()),
        "j": settings.get("proxyjump", [""])[0],
        "k": settings.get("hostkeyalias", [name])[0],
        "L": own.partition(".")[0],
        "l": own,
        "n": name,
        "p": port,
        "r": user,
        "u": _local_user(),
    }


def _expand_tokens(text: str, tokens: Mapping[str, str]) -> str:
    """Expand %-tokens and ${VARIABLES} in a value of the SSH configuration, as `ssh` does."""

    def value(match: re.Match[str]) -> str:
        known: Mapping[str, str] = tokens if match[2] is None else os.environ
        key = match[1] if match[2] is None else match[2]
        if key not in known:
            token = f"{clean(match[0])!r} of the SSH configuration, in {clean(text)!r},"
            if match[2] is not None:
                raise OptionError(f"{token} is an environment variable that is not set")
            raise OptionError(f"{token} is a token that plink cannot expand")
        return known[key]

    return _TOKEN.sub(value, text)


def _list_files(
    settings: Mapping[str, Sequence[str]], key: str, tokens: Mapping[str, str]
) -> tuple[str, ...]:
    # The client prints them without quotes, and names may hold blanks.
    names = re.split(r" (?=[/~]|none$)", " ".join(settings.get(key, ())))
    expanded = (_expand_tokens(name, tokens) for name in names if name.lower() != "none")
    return tuple(str(Path(name).expanduser()) for name in expanded)


def _proxy_command(settings: Mapping[str, Sequence[str]], tokens: Mapping[str, str]) -> str | None:
    command = settings.get("proxycommand", ["none"])[0]
    if command.lower() == "none":
        return None
    # Variables are the shell's, whose syntax is its own.
    return re.sub(r"%(.?)", lambda match: _expand_tokens(match[0], tokens), command)


def _find_home() -> Path:
    """Return the user's home directory by passwd(5), as OpenSSH does, or else by HOME."""
    user = _find_user()
    return Path("~").expanduser() if user is None else Path(user.pw_dir)


def _find_user() -> pwd.struct_passwd | None:
    with suppress(KeyError):
        return pwd.getpwuid(os.getuid())
    return None


def _local_user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        raise OptionError(
            "the user id of this process has no name on this machine",
            "set the environment variable LOGNAME",
        ) from None


def _is_found_by_the_client() -> bool:
    """Tell whether HOME is the home of passwd(5), the only one at which the client looks."""
    return Path(_USER_CONFIG).expanduser() == _find_home() / ".ssh" / "config"


def _read_user_config() -> bytes:
    """Return the bytes of the user's configuration; none where there is no such file."""
    own = Path(_USER_CONFIG).expanduser()
    return _read_config(str(own)) if own.is_file() else b""


def _read_config(file: str) -> bytes:
    """Return the bytes of an SSH configuration file; raise OptionError if it cannot be read."""
    try:
        return read_file(file)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not the name of a file"
        raise OptionError(f"{file}: the SSH configuration cannot be read ({reason})") from None
