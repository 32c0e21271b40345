"""LightGBM's machine list (src/network/linkers_socket.cpp): `address port` a line.

A process takes the rank of the first line with an address of its own machine and the port that
it listens on itself, so that ranks of one host need ports of their own.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Sequence

from plink.deploy.launchers.format import Format, places, ranks_by_host
from plink.deploy.launchers.names import check_names, refusal
from plink.files.cluster import Host

# LightGBM's default of local_listen_port; local rank i of a host listens i further on.
FIRST_PORT = 12400

_LAUNCHER = "LightGBM"


def render(hosts: Sequence[Host]) -> str:
    """One line per rank.

    Only IPv4 addresses: a line is compared with the addresses of the machine as text, and one
    with a letter of `rank=` in it is taken for something else.
    """
    check_names(hosts, _LAUNCHER)
    ranks_on = ranks_by_host(hosts)
    owners: dict[str, Host] = {}
    for host in hosts:
        if not _is_ipv4(host.address):
            raise refusal(host, _LAUNCHER, "has no IPv4 address in the cluster file")
        other = owners.setdefault(host.address, host)
        if other.name != host.name:
            raise refusal(host, _LAUNCHER, f"has the address of {other.name!r}")
        ranks = ranks_on[host.name]
        if FIRST_PORT + ranks > 1 << 16:
            raise refusal(host, _LAUNCHER, f"has no ports for {ranks} ranks")
    return "".join(
        f"{place.host.address} {FIRST_PORT + place.local_rank}\n" for place in places(hosts)
    )


def _is_ipv4(text: str) -> bool:
    try:
        ipaddress.IPv4Address(text)
    except ValueError:
        return False
    return True


FORMAT = Format(
    name="lightgbm",
    about="LightGBM: machine list of addresses and ports",
    usage="lightgbm config=CONFIG num_machines=RANKS machine_list_filename=FILE "
    f"local_listen_port={FIRST_PORT}",
    render=render,
)
