"""A subnet for the lab that nothing else on this machine uses."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from ipaddress import IPv4Network

from labkit.errors import LabError

# Private ranges in the order tried. The last is the one set aside for benchmarks (RFC 2544): it is
# there for machines whose VPN claims every private range.
POOLS = tuple(map(IPv4Network, ("10.128.0.0/9", "172.16.0.0/12", "198.18.0.0/15")))
PREFIX_LENGTHS = (24, 22, 20, 18, 16)


def choose(lab: str, address_count: int, taken: Iterable[IPv4Network]) -> IPv4Network:
    """A free subnet of at least so many addresses.

    The search starts at a place that depends on the lab's name alone, so that a lab taken down and
    put up again usually gets the same addresses.

    Raises:
        LabError: every candidate overlaps a taken network.
    """
    used = [network for network in taken if network.prefixlen > 0]
    fitting = (n for n in PREFIX_LENGTHS if 2 ** (32 - n) >= address_count)
    length = next(fitting, None)
    if length is None:
        raise LabError(f"a routed lab of this shape needs too many addresses: {address_count}")
    for pool in POOLS:
        for subnet in _candidates(lab, pool, length):
            if not any(subnet.overlaps(network) for network in used):
                return subnet
    raise LabError("no private subnet is free", "ip route shows which routes use them")


def _candidates(lab: str, pool: IPv4Network, length: int) -> Iterator[IPv4Network]:
    """Every subnet of the pool, from a place given by the lab's name on and around."""
    count = 2 ** (length - pool.prefixlen)
    start = int.from_bytes(hashlib.sha256(lab.encode()).digest()[:8], "big")
    size = 2 ** (32 - length)
    for offset in range(count):
        base = int(pool.network_address) + (start + offset) % count * size
        yield IPv4Network((base, length))
