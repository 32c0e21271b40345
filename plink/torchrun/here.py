"""What this host is: its names, its addresses, and what is asked of it before it is measured."""

from __future__ import annotations

import functools
import ipaddress
import socket
import subprocess

from plink.probes.facts import SCRIPT
from plink.probes.hosts.names import is_host_name
from plink.torch.addresses import host_addresses

_FACTS_S = 10.0
_EVERYBODYS = "localhost"


@functools.cache
def own_names() -> list[str]:
    """What this host calls itself; its first address where that says nothing."""
    names = list(dict.fromkeys([socket.gethostname(), socket.getfqdn()]))
    usable = [name for name in names if is_host_name(name) and not name.startswith(_EVERYBODYS)]
    return usable or own_addresses()[:1] or [_EVERYBODYS]


def own_addresses() -> list[str]:
    """At which other hosts may know this one."""
    found = [address for addresses in host_addresses().values() for address in addresses]
    return [address for address in found if not ipaddress.ip_address(address).is_loopback]


@functools.cache
def own_facts() -> str:
    """What `plink.probes.facts.parse` reads; empty where there is no shell."""
    try:
        done = subprocess.run(
            ["sh", "-s"], input=SCRIPT, capture_output=True, check=False, timeout=_FACTS_S
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.decode(errors="replace")
