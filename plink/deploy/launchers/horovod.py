"""Horovod's host file (horovod/runner/common/util/hosts.py): `host slots=N`, ranks in file order.

`--gloo` because over MPI Horovod hands the hosts to `mpirun -H`, where they are no order. Blank
lines and comments crash the parser; a name may be of letters, digits, dots, hyphens, underscores.
"""

from __future__ import annotations

from collections.abc import Sequence

from plink.deploy.launchers.format import Format
from plink.deploy.launchers.names import check_names
from plink.files.cluster import Host


def render(hosts: Sequence[Host]) -> str:
    """One host a line. An IPv6 address is refused: Horovod puts `:slots` behind it."""
    check_names(hosts, "Horovod", ipv6=False)
    return "".join(f"{host.name} slots={host.slots}\n" for host in hosts)


FORMAT = Format(
    name="horovod",
    about="Horovod: host file with slots",
    usage="horovodrun --gloo -np RANKS --hostfile FILE python SCRIPT",
    render=render,
    adjacent_because="Horovod takes a host once",
)
