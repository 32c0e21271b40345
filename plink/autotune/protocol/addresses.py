"""The address at which ranks reach a daemon that listens on all."""

from __future__ import annotations

import socket
from collections import Counter

from plink.formats.plan import Plan
from plink.transport.addresses import is_wildcard


def address_for(plan: Plan, bound: str) -> str | None:
    """Return this host's address on the way to most of the plan's; None if there is no way.

    Args:
        plan: whose ranks are to call.
        bound: where the daemon listens: all addresses of one family.
    """
    family = socket.AF_INET6 if ":" in bound else socket.AF_INET
    addresses = dict.fromkeys(rank.address for rank in plan.ranks)
    found = Counter(own for address in addresses if (own := own_address(address, family)))
    return found.most_common(1)[0][0] if found else None


def own_address(towards: str, family: socket.AddressFamily) -> str | None:
    """Return the address from which this host would send to that one; nothing is sent."""
    try:
        with socket.socket(family, socket.SOCK_DGRAM) as probe:
            # A name could have to be asked for on the network.
            numeric = socket.getaddrinfo(
                towards, 1, family, socket.SOCK_DGRAM, flags=socket.AI_NUMERICHOST
            )
            probe.connect(numeric[0][4])
            own: str = probe.getsockname()[0]
    except OSError:
        return None
    return None if is_wildcard(own) else own
