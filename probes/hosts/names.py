"""Syntax checks of host names, user names and addresses. Pure.

SSH configurations hand names to shells (`Match exec`, `ProxyCommand`), known_hosts reads `*` in
them, and programs take a dash in front for an option: what could mean anything but a host is
refused before anything else sees it.
"""

from __future__ import annotations

import re

from plink.probes.hosts.address import is_address

MAX_PORT = 65535
MAX_NAME_LENGTH = 255
_MAX_LABEL_LENGTH = 63

HINT_NAME = "use the host's DNS name, its address, or an alias from the SSH configuration"

_USER = re.compile(r"[A-Za-z0-9_.][A-Za-z0-9_.+@-]{0,63}")
_NAME = re.compile(r"[A-Za-z0-9_.-]+")
_NUMERIC = re.compile(r"[0-9.]+")


def find_name_fault(name: str) -> str | None:
    """Return why a text is no valid host name, as the end of a sentence; None if it is valid.

    Names are those of DNS, aliases of an SSH configuration (which may hold underscores), and
    IPv4 and IPv6 addresses, these perhaps with a zone.
    """
    if ":" in name:
        return None if is_address(name) else "is not an IPv6 address"
    labels = name.removesuffix(".").split(".")
    faults = {
        "begins with a dash, which programs take for an option": name.startswith("-"),
        "is not a host name": not _NAME.fullmatch(name),
        "is not an IPv4 address": bool(_NUMERIC.fullmatch(name)) and not is_address(name),
        "is too long for a host name": len(name) > MAX_NAME_LENGTH
        or max(map(len, labels)) > _MAX_LABEL_LENGTH,
        "has an empty part": not all(labels),
    }
    return next((fault for fault, is_found in faults.items() if is_found), None)


def is_host_name(name: str) -> bool:
    """Return whether a text can be a host's name or address."""
    return find_name_fault(name) is None


def is_user(user: str) -> bool:
    """Return whether a text can be a user name."""
    return _USER.fullmatch(user) is not None
