"""Identity of this host: names, addresses, NVLink domain and network interfaces."""

from __future__ import annotations

import functools
import ipaddress
import re
import shutil
import socket
import subprocess
from collections.abc import Mapping

from plink.base.errors import WrongUseError
from plink.engine.interfaces import host_addresses
from plink.probes.facts import SCRIPT
from plink.probes.hosts.hostlist import find_name_fault, is_host_name

HOST_VARIABLE = "PLINK_HOST"
DOMAIN_VARIABLE = "PLINK_NVLINK_DOMAIN"

_FACTS_S = 10.0
_EVERYBODYS = "localhost"
# Drivers name a domain by 16 bytes and a number; all zeros where GPUs are in none.
_CLUSTER = re.compile(
    r"^[ \t]*ClusterUUID[ \t]*:[ \t]*([0-9A-Fa-f-]{32,40})[ \t\r]*$", re.MULTILINE
)
_CLIQUE = re.compile(r"^[ \t]*CliqueId[ \t]*:[ \t]*(\d+)[ \t\r]*$", re.MULTILINE)


@functools.cache
def own_names() -> list[str]:
    """Return the names of this host; its first address if none of them is usable."""
    names = list(dict.fromkeys([socket.gethostname(), socket.getfqdn()]))
    usable = [name for name in names if is_host_name(name) and not name.startswith(_EVERYBODYS)]
    return usable or own_addresses()[:1] or [_EVERYBODYS]


def own_addresses() -> list[str]:
    """Return the addresses at which other hosts may know this one, without loopback."""
    found = [address for addresses in host_addresses().values() for address in addresses]
    return [address for address in found if not ipaddress.ip_address(address).is_loopback]


def named_host(given: str | None, environment: Mapping[str, str], option: str) -> str | None:
    """Return the name that the user gave this host, or None.

    Args:
        given: value of the option.
        environment: where `PLINK_HOST` may name the host, too.
        option: what messages call the option.

    Raises:
        WrongUseError: the value is no host name.
    """
    host = given or environment.get(HOST_VARIABLE) or None
    if host is not None and (fault := find_name_fault(host)) is not None:
        source = option if given else HOST_VARIABLE
        raise WrongUseError(f"{source}={host!r} {fault}", "give the name that the order file has")
    return host


@functools.cache
def own_facts() -> str:
    """Return this host's facts for `plink.probes.facts.parse`; empty if the script cannot run."""
    try:
        done = subprocess.run(
            ["sh", "-s"], input=SCRIPT, capture_output=True, check=False, timeout=_FACTS_S
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.decode(errors="replace")


def own_domain(environment: Mapping[str, str]) -> str:
    """Return the NVLink domain that this host shares with others; empty for none.

    Args:
        environment: of the process. `PLINK_NVLINK_DOMAIN` comes first, then the block of Slurm's
            topology, then the driver's `nvidia-smi -q`.
    """
    given = environment.get(DOMAIN_VARIABLE)
    if given is not None:
        return given.strip()
    return parse_slurm_block(environment) or _driver_domain()


def parse_slurm_block(environment: Mapping[str, str]) -> str:
    """Return the smallest block of `topology/block` that this node is in; empty for none.

    Slurm sets SLURM_TOPOLOGY_ADDR=block1.node7 and SLURM_TOPOLOGY_ADDR_PATTERN=block.node.
    """
    names = environment.get("SLURM_TOPOLOGY_ADDR", "").split(".")
    kinds = environment.get("SLURM_TOPOLOGY_ADDR_PATTERN", "").split(".")
    # A node's name may hold dots, and comes last.
    blocks = [name for name, kind in zip(names, kinds, strict=False) if kind == "block" and name]
    return blocks[-1] if blocks else ""


def parse_driver_domain(text: str) -> str:
    """Return `ClusterUUID.CliqueId` of `nvidia-smi -q`, as `nvidia.com/gpu.clique` labels have it.

    Empty where the GPUs are in no domain, or in several.
    """
    clusters = {found.lower() for found in _CLUSTER.findall(text)}
    cliques = set(_CLIQUE.findall(text))
    if len(clusters) != 1 or len(cliques) != 1:
        return ""
    cluster = clusters.pop()
    return f"{cluster}.{cliques.pop()}" if cluster.strip("0-") else ""


@functools.cache
def _driver_domain() -> str:
    program = shutil.which("nvidia-smi")
    if program is None:
        return ""
    try:
        done = subprocess.run([program, "-q"], capture_output=True, check=False, timeout=_FACTS_S)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return parse_driver_domain(done.stdout.decode(errors="replace"))
