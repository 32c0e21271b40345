"""Facts that hosts report about themselves, such as cores and addresses."""

from __future__ import annotations

import ipaddress
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from plink.probes.errors import HostError
from plink.probes.hosts.address import InterfaceAddress, is_address

# Who only reads what hosts said need not wait for an SSH library to be imported.
if TYPE_CHECKING:
    from plink.probes.remote.session import Session

# A shell without a login may lack the folders where `ip` is.
SCRIPT = b"""
PATH=$PATH:/usr/sbin:/sbin
echo "architecture $(uname -m)"
echo "machine $(cat /proc/sys/kernel/random/boot_id)"
echo "cores $(nproc)"
if command -v ip >/dev/null; then
  echo ip
  ip -o addr show
  { ip -o route show default; ip -o -6 route show default; } 2>/dev/null
  for link in /sys/class/net/*; do
    while IFS='=' read -r key value; do
      [ "$key" = DEVTYPE ] && echo "link ${link##*/} $value"
    done 2>/dev/null <$link/uevent
    [ -e "$link/tun_flags" ] && echo "link ${link##*/} tun"
  done
else echo hostname; hostname -I; fi
"""
_MAX_CORES = 1 << 20
_NUMBER = re.compile(r"[0-9]{1,9}")

# An address that the kernel does not use yet, or will soon cease to use.
_UNSETTLED = {"tentative", "dadfailed", "deprecated", "temporary"}
_INTERFACE = re.compile(r"[!-~]{1,15}\Z")
_MAX_ADDRESSES = 1024


@dataclass(frozen=True)
class HostFacts:
    """Facts that a host reports of itself: architecture, machine, cores and addresses.

    Args:
        architecture: output of `uname -m`.
        machine: boot id, which containers and namespaces of one kernel share; empty if unknown.
        cores: processors it may use, at least 1.
    """

    architecture: str
    machine: str
    cores: int
    addresses: Sequence[InterfaceAddress]


def ask(session: Session) -> HostFacts:
    """Ask a host by a shell script for its architecture, boot id, cores and addresses.

    Raises:
        HostError: it runs no POSIX shell, or says nothing that can be understood.
    """
    done = session.run("sh -s", SCRIPT)
    facts = parse(done.stdout.decode(errors="replace"))
    if facts is None:
        reason = done.stderr or "no output"
        raise HostError(session.host, f"it runs no POSIX shell (sh -s: {reason})")
    return facts


def parse(output: str) -> HostFacts | None:
    """Parse the output of the script that reports a host's facts; None if it is not valid."""
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


def parse_ip_addr(text: str) -> list[InterfaceAddress]:
    """Return the usable addresses, with interfaces, in the output of `ip -o addr show`.

    Lines of other shapes are passed over, as are addresses that are not settled. Default routes
    (`ip -o route show default`) and lines `link NAME TYPE` may follow.
    """
    lines = [line.partition("\\")[0].split() for line in text.splitlines()]
    default = _default_interfaces(lines)
    kinds = {words[1]: words[2] for words in lines if len(words) == 3 and words[0] == "link"}
    addresses = []
    for words in lines:
        if len(words) < 4 or words[2] not in ("inet", "inet6"):
            continue
        interface = words[1].partition("@")[0]
        if not _INTERFACE.match(interface) or not _UNSETTLED.isdisjoint(words):
            continue
        parsed = _parse_address(interface, words[3])
        if parsed is not None:
            has_route = interface in default
            addresses.append(replace(parsed, kind=kinds.get(interface, ""), has_route=has_route))
    return addresses[:_MAX_ADDRESSES]


def _default_interfaces(lines: Sequence[Sequence[str]]) -> set[str]:
    """Return the interfaces of the default routes with the least metric, of IPv4 and of IPv6."""
    routes: dict[bool, list[tuple[int, str]]] = {}
    for words in lines:
        if words[:1] != ["default"] or "dev" not in words[:-1]:
            continue
        metric = words[words.index("metric") + 1] if "metric" in words[:-1] else "0"
        number = int(metric) if _NUMBER.fullmatch(metric) else 0
        is_6 = ":" in "".join(words[1:3])
        routes.setdefault(is_6, []).append((number, words[words.index("dev") + 1]))
    return {name for known in routes.values() for metric, name in known if metric == min(known)[0]}


def parse_hostname(text: str) -> list[InterfaceAddress]:
    """Return the addresses in the output of `hostname -I`, without interface names."""
    parsed = (_parse_address("", word) for word in text.split()[:_MAX_ADDRESSES])
    return [address for address in parsed if address is not None]


def _parse_address(interface: str, text: str) -> InterfaceAddress | None:
    try:
        given = ipaddress.ip_interface(text)
    except ValueError:
        return None
    address = str(given.ip)
    # `hostname -I` has no prefixes, and `ip` leaves out those of whole addresses.
    prefix = given.network.prefixlen if "/" in text or interface else None
    return InterfaceAddress(interface, address, prefix) if is_address(address) else None


def limit_pairs(facts: Sequence[HostFacts], cores_per_pair: int = 1) -> int:
    """Return how many pairs to measure at once, given the cores of machines that hosts share.

    Every host can be in one pair at a time. Hosts that share a machine also share its cores: a
    pair takes `cores_per_pair`, and one is left to SSH, so that the most crowded machine decides;
    unless `cores_per_pair` is 0: then nothing that is measured depends on time on a core.
    """
    most = max(1, len(facts) // 2)
    if not cores_per_pair:
        return most
    residents = Counter(fact.machine for fact in facts if fact.machine)
    for fact in facts:
        if residents[fact.machine] > 1:
            most = min(most, max(1, (fact.cores - 1) // cores_per_pair))
    return most


def count_sharing_hosts(facts: Sequence[HostFacts]) -> int:
    """Return the number of hosts that run on one machine with another host of the run."""
    residents = Counter(fact.machine for fact in facts if fact.machine)
    return sum(count for count in residents.values() if count > 1)
