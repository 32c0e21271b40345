"""Variables of an Ansible inventory that define how to connect to a host. Pure.

ansible.builtin.ssh, ansible.builtin.paramiko and "Understanding privilege escalation": each
variable that they document is used here, named as one that plink does not use, or refused by name.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from plink.probes.errors import HostListError, clean, name_some
from plink.probes.hosts.hostlist import ListedHost, check_host

_OVER_SSH = re.compile(r"smart|(ansible\.builtin\.)?(ssh|paramiko(_ssh)?)")
_HERE = ("local", "ansible.builtin.local")
_KEYS = ("ansible_private_key_file", "ansible_ssh_private_key_file")
_USERS = ("ansible_user", "ansible_ssh_user")
_PORTS = ("ansible_port", "ansible_ssh_port")
_ADDRESSES = ("ansible_host", "ansible_ssh_host")
_PLAIN = frozenset([*_KEYS, *_USERS, *_PORTS, *_ADDRESSES, "ansible_connection"])
_CHECKING = ("ansible_host_key_checking", "ansible_ssh_host_key_checking")

# In the order in which ansible.builtin.ssh writes them into its command, host key checking between
# the first and the second: ssh takes the first value that it gets for an option.
_ARGUMENTS = ("ansible_ssh_args", "ansible_ssh_common_args", "ansible_ssh_extra_args")

_BECOME = re.compile(r"ansible_(become|sudo|su)(_.+)?")
# How long and how often Ansible tries, and how it moves files: plink has its own ways of both.
_OWN_WAYS = re.compile(
    r"ansible_((ssh_)?(timeout|pipelining|retries|reconnection_retries|transfer_method|use_tty|"
    r"verbosity|password_mechanism)|(ssh_)?control_path(_dir)?|(scp|sftp)_.+|shell_executable)"
)
_REFUSED = re.compile(
    r"ansible_(ssh_.+|paramiko_.+|pass(word)?|private_key(_passphrase)?|pkcs11_provider|"
    r"sshpass_prompt|proxy_command|socks_proxy|host_key_auto_add)"
)
_SHELL = "ansible_shell_type"
_OTHER_SHELLS = ("cmd", "powershell")

# Options of `ssh -o` that plink hands on, with the values that an inventory may give. Files of
# known keys are for the user's own configuration to name: keys that are new are written into them.
_NOWHERE = ("/dev/null", "none")
_SPELLINGS = {"true": "yes", "false": "no"}
_HANDED_ON = {
    "stricthostkeychecking": ("yes", "no", "off", "ask", "accept-new"),
    "identitiesonly": ("yes", "no"),
    "userknownhostsfile": _NOWHERE,
    "globalknownhostsfile": _NOWHERE,
}
# Options and flags that change neither the way to a host nor who it is.
_HARMLESS_OPTIONS = frozenset(
    [
        *["controlmaster", "controlpath", "controlpersist", "serveraliveinterval", "loglevel"],
        *["serveralivecountmax", "connecttimeout", "connectionattempts", "compression"],
        *["forwardagent", "tcpkeepalive", "batchmode", "requesttty", "updatehostkeys"],
        *["checkhostip", "gssapiauthentication", "passwordauthentication", "addkeystoagent"],
        *["forwardx11", "visualhostkey"],
    ]
)
_HARMLESS_FLAGS = frozenset(["-C", "-q", "-T", "-t", "-tt", "-A", "-a", "-x", "-v", "-vv", "-vvv"])
_IDENTITY = "identityfile"

_HINT_WAY = (
    "write it into an SSH configuration (Host {host}, in ~/.ssh/config or -F FILE) and "
    "list the hosts in a file of names"
)
_HINT_VALUE = "write its value without templates"
_FLAGS = {
    **dict.fromkeys(("y", "yes", "on", "1", "true", "t", "1.0"), True),
    **dict.fromkeys(("n", "no", "off", "0", "false", "f", "0.0"), False),
}


@dataclass(frozen=True)
class Connection:
    """Connection settings of a host in an Ansible inventory.

    Args:
        host: the host as plink lists it.
        keys: files of private keys, in the order in which they are tried.
        unused: variables that plink passes over, because it does the same in its own way.
        unused_become: variables of privilege escalation, which plink does not use.
    """

    host: ListedHost
    keys: Sequence[str]
    unused: Sequence[str] = ()
    unused_become: Sequence[str] = ()


def is_local(values: Mapping[str, Any]) -> bool:
    """Return whether Ansible runs a host with these variables on this machine itself."""
    return values.get("ansible_connection") in _HERE


def read_connection(name: str, values: Mapping[str, Any], source: str) -> Connection:
    """Return the connection settings in a host's variables.

    Args:
        values: all variables that hold for it.

    Raises:
        HostListError: a variable says what plink cannot do, or has no value that can be used.
    """
    connection = values.get("ansible_connection")
    if connection is not None and not _OVER_SSH.fullmatch(str(connection)):
        raise HostListError(
            f"{source}: {clean(name)} is reached by {clean(str(connection))!r}, not over SSH",
            "name a group without it, as ansible:FILE:GROUP",
        )
    given = {key: value for key, value in values.items() if value not in (None, "", False)}
    for variable, value in given.items():
        _check_known(variable, value, name, source)
    port = _text(values, source, name, *_PORTS)
    if port is not None and not (port.isascii() and port.isdigit() and len(port) <= 5):
        raise HostListError(f"{source}: the port of {clean(name)} is {clean(port)!r}")
    options, keys = _ssh_options(name, values, source)
    key = _text(values, source, name, *_KEYS)
    host = ListedHost(
        name,
        user=_text(values, source, name, *_USERS),
        port=None if port is None else int(port),
        connect_to=_text(values, source, name, *_ADDRESSES),
        ssh_options=tuple(options),
        place=source,
    )
    check_host(host)
    return Connection(
        host,
        keys if key is None else [key],
        [variable for variable in given if _OWN_WAYS.fullmatch(variable)],
        [variable for variable, value in given.items() if _is_become(variable, value)],
    )


def describe_unused(connections: Sequence[Connection], source: str) -> list[str]:
    """Return a sentence for each kind of inventory variable that plink ignores."""
    become = dict.fromkeys(each for connection in connections for each in connection.unused_become)
    others = dict.fromkeys(each for connection in connections for each in connection.unused)
    texts = []
    for variables, reason in (
        (become, "plink runs as the user who logs in"),
        (others, "plink has its own timeouts, retries and transfers of files"),
    ):
        if variables:
            texts.append(f"{source}: not used: {name_some(variables)} ({reason})")
    return texts


def _is_become(variable: str, value: Any) -> bool:
    match = _BECOME.fullmatch(variable)
    # The variable alone turns it on or off; the others say how.
    return match is not None and (match[2] is not None or _flag(value) is not False)


def _check_known(variable: str, value: Any, name: str, source: str) -> None:
    is_used = variable in _PLAIN or variable in _ARGUMENTS or variable in _CHECKING
    if variable == _SHELL and str(value).lower() in _OTHER_SHELLS:
        raise HostListError(
            f"{source}: {_SHELL} of {clean(name)} is {clean(str(value))!r}, and plink needs a "
            "POSIX shell",
            "name a group without it, as ansible:FILE:GROUP",
        )
    if is_used or _OWN_WAYS.fullmatch(variable) or not _REFUSED.fullmatch(variable):
        return
    raise HostListError(
        f"{source}: {clean(variable)} of {clean(name)} cannot be used: plink logs in over SSH, "
        "with a key",
        "give the key with ansible_private_key_file or -i KEY, and a way to the host in "
        "~/.ssh/config",
    )


def _ssh_options(name: str, values: Mapping[str, Any], source: str) -> tuple[list[str], list[str]]:
    """Return the `ssh` options in a host's variables, and the private keys they name."""
    options: list[str] = []
    keys: dict[str, None] = {}
    for variable in _ARGUMENTS:
        for option, value in _arguments(name, variable, values, source):
            keyword = option.lower()
            handed_on = _HANDED_ON.get(keyword, ())
            if keyword == _IDENTITY:
                keys[value] = None
            elif (usual := _SPELLINGS.get(value.lower(), value.lower())) in handed_on:
                options.append(f"{option}={usual}")
            else:
                shown = f"{option}={value}" if handed_on else option
                raise HostListError(
                    f"{source}: {variable} of {clean(name)} has {clean(shown)}, which plink "
                    "cannot use from an inventory",
                    _HINT_WAY.format(host=clean(name)),
                )
        if variable == _ARGUMENTS[0] and _is_unchecked(name, values, source):
            options.append("StrictHostKeyChecking=no")
    return options, list(keys)


def _is_unchecked(name: str, values: Mapping[str, Any], source: str) -> bool:
    """Return whether a variable turns off the check of host keys."""
    given = [(key, values[key]) for key in _CHECKING if values.get(key) not in (None, "")]
    for variable, value in given[:1]:
        flag = _flag(value)
        if flag is None:
            message = f"{source}: {variable} of {clean(name)} is {clean(str(value))!r}"
            raise HostListError(f"{message}, expected true or false", _HINT_VALUE)
        return not flag
    return False


def _arguments(
    name: str, variable: str, values: Mapping[str, Any], source: str
) -> Iterator[tuple[str, str]]:
    """Yield the options and flags in `ssh` arguments that plink follows, with their values."""
    text = _text(values, source, name, variable) or ""
    try:
        words = shlex.split(text)
    except ValueError as error:
        message = f"{source}: {variable} of {clean(name)}: {str(error).lower()}"
        raise HostListError(message, _HINT_VALUE) from None
    waiting = iter(words)
    for word in waiting:
        if word in _HARMLESS_FLAGS:
            continue
        if word.startswith("-o"):
            given = (word[2:] or next(waiting, "")).strip()
            option, _, value = given.replace("=", " ", 1).partition(" ")
            if option.lower() not in _HARMLESS_OPTIONS:
                yield option, value.strip().strip('"')
        elif word.startswith("-i"):
            yield "IdentityFile", word[2:] or next(waiting, "")
        else:
            yield word, ""


def _text(values: Mapping[str, Any], source: str, host: str, *names: str) -> str | None:
    """Return the first of these variables that a host has, as text."""
    for name in names:
        value = values.get(name)
        if value is None or value == "":
            continue
        if not isinstance(value, str | int) or isinstance(value, bool) or "{{" in str(value):
            shown = clean(str(value))
            message = f"{source}: {name} of {clean(host)} is {shown!r}, which plink cannot use"
            raise HostListError(message, _HINT_VALUE)
        return str(value)
    return None


def _flag(value: Any) -> bool | None:
    """Return a value as Ansible parses a boolean; None if it is none."""
    return _FLAGS.get(str(value).strip().lower())
