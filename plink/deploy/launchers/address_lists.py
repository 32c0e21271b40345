"""Files with the address of every rank: LightGBM's machine list and MLX's host file.

LightGBM (src/network/linkers_socket.cpp) reads `address port` a line. A process takes the rank of
the first line with an address of its own machine and the port that it listens on itself, so that
ranks of one host need ports of their own.

MLX (mlx.launch --hostfile) reads a JSON list: `ssh` is how a host is reached and `ips` where its
rank listens. The ring backend gives every entry its own port, so that a host with several ranks is
listed several times.
"""

from __future__ import annotations

import ipaddress
import json
from collections.abc import Sequence

from plink.deploy.launchers.format import Format, check_names, places, ranks_by_host, refusal
from plink.formats.hosts import Host

# LightGBM's default of local_listen_port; local rank i of a host listens i further on.
FIRST_PORT = 12400

_HINT_ADDRESS = "write an IPv4 address of its own for each host into the cluster file"


def render_lightgbm(hosts: Sequence[Host]) -> str:
    """Return LightGBM's machine list, a line `ADDRESS PORT` for each rank (IPv4 only).

    Only IPv4 addresses: LightGBM compares a line with the addresses of the machine as text, and
    reads one with a letter of `rank=` in it as something else.
    """
    launcher = "LightGBM"
    check_names(hosts, launcher)
    _check_ipv4(hosts, launcher)
    ranks_on = ranks_by_host(hosts)
    owners: dict[str, Host] = {}
    for host in hosts:
        other = owners.setdefault(host.address, host)
        if other.name != host.name:
            reason = f"has the same address as {other.name!r}"
            raise refusal(host, launcher, reason, _HINT_ADDRESS)
        ranks = ranks_on[host.name]
        if FIRST_PORT + ranks > 1 << 16:
            raise refusal(
                host, launcher, f"has too few ports from {FIRST_PORT} on for {ranks} ranks", None
            )
    return "".join(
        f"{place.host.address} {FIRST_PORT + place.local_rank}\n" for place in places(hosts)
    )


def render_mlx(hosts: Sequence[Host]) -> str:
    """Return MLX's host file, a JSON list with an entry for each rank (IPv4 only)."""
    launcher = "MLX"
    check_names(hosts, launcher)
    _check_ipv4(hosts, launcher)
    entries = [
        json.dumps({"ssh": place.host.name, "ips": [place.host.address]}) for place in places(hosts)
    ]
    return "[\n" + ",\n".join(entries) + "\n]\n"


def _check_ipv4(hosts: Sequence[Host], launcher: str) -> None:
    for host in hosts:
        try:
            ipaddress.IPv4Address(host.address)
        except ValueError:
            reason = "has no IPv4 address in the cluster file"
            raise refusal(host, launcher, reason, _HINT_ADDRESS) from None


LIGHTGBM = Format(
    name="lightgbm",
    about="LightGBM: machine list of addresses and ports",
    usage="lightgbm config=CONFIG num_machines=RANKS machine_list_filename=FILE "
    f"local_listen_port={FIRST_PORT}",
    render=render_lightgbm,
)
MLX = Format(
    name="mlx",
    about="MLX: JSON host file of mlx.launch",
    usage="mlx.launch --backend ring --hostfile FILE SCRIPT",
    render=render_mlx,
)
