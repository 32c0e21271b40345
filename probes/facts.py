"""What a host says of itself: processor, machine, cores, addresses."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from probes.errors import HostError
from probes.hosts.address import InterfaceAddress
from probes.hosts.reported import parse_hostname, parse_ip_addr
from probes.ssh.session import Session

# A shell without a login may lack the folders where `ip` is.
_SCRIPT = b"""
PATH=$PATH:/usr/sbin:/sbin
echo "architecture $(uname -m)"
echo "machine $(cat /proc/sys/kernel/random/boot_id)"
echo "cores $(nproc)"
if command -v ip >/dev/null; then echo ip; ip -o addr show
else echo hostname; hostname -I; fi
"""
_MAX_CORES = 1 << 20
_NUMBER = re.compile(r"[0-9]{1,9}")


@dataclass(frozen=True)
class HostFacts:
    """What a host says of itself.

    Args:
        architecture: as `uname -m` has it.
        machine: what hosts on one kernel share (its boot id): containers and namespaces of one
            machine, not virtual machines. Empty where the host does not tell.
        cores: processors it may use, at least 1.
        addresses: its own addresses.
    """

    architecture: str
    machine: str
    cores: int
    addresses: Sequence[InterfaceAddress]


def ask(session: Session) -> HostFacts:
    """Ask one host.

    Raises:
        HostError: it runs no POSIX shell, or says nothing that can be understood.
    """
    done = session.run("sh -s", _SCRIPT)
    facts = parse(done.stdout.decode(errors="replace"))
    if facts is None:
        reason = done.stderr.splitlines()[-1] if done.stderr else "no output"
        raise HostError(session.host, f"does not run a POSIX shell over SSH ({reason})")
    return facts


def parse(output: str) -> HostFacts | None:
    """What the questions' output says; None where it is not such an output."""
    head, separator, addresses = output.partition("\nip\n")
    parse_addresses = parse_ip_addr
    if not separator:
        head, separator, addresses = output.partition("\nhostname\n")
        parse_addresses = parse_hostname
    words = dict(line.split(" ", 1) for line in head.splitlines() if " " in line)
    architecture = words.get("architecture", "").strip()
    if not separator or not architecture:
        return None
    cores = words.get("cores", "").strip()
    return HostFacts(
        architecture=architecture,
        machine=words.get("machine", "").strip(),
        cores=min(max(int(cores), 1), _MAX_CORES) if _NUMBER.fullmatch(cores) else 1,
        addresses=parse_addresses(addresses),
    )
