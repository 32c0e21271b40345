"""torchrun: one command per host, with the static rendezvous.

The c10d rendezvous ignores `--node-rank` and sorts hosts by name; only the static one keeps
the order. Hosts may differ in slots: torchrun numbers ranks by a running sum over the hosts.
"""

from __future__ import annotations

from collections.abc import Sequence

from plink.deploy.launchers.format import Format
from plink.deploy.launchers.gloo import socket_interface
from plink.deploy.launchers.names import MASTER_PORT, check_names, master_address
from plink.files.cluster import Host


def commands(hosts: Sequence[Host]) -> list[str]:
    """For every host in rank order, a shell command that lacks the script.

    Raises:
        WrongUseError: a name is none, or rank 0 has no address.
    """
    check_names(hosts, "torchrun")
    master = master_address(hosts, "torchrun")
    return [
        " ".join(
            word
            for word in [
                socket_interface(host),
                "torchrun",
                "--rdzv-backend=static",
                f"--nnodes={len(hosts)}",
                f"--node-rank={node_rank}",
                f"--nproc-per-node={host.slots}",
                f"--master-addr={master}",
                f"--master-port={MASTER_PORT}",
            ]
            if word
        )
        for node_rank, host in enumerate(hosts)
    ]


def render(hosts: Sequence[Host]) -> str:
    """One line per host: its name, then its command."""
    return "".join(
        f"{host.name} {command}\n" for host, command in zip(hosts, commands(hosts), strict=True)
    )


FORMAT = Format(
    name="torchrun",
    about="torchrun: one command a host, with the static rendezvous",
    usage=('while read -r host command; do ssh -n "$host" "$command SCRIPT" & done < FILE; wait'),
    render=render,
    adjacent_because="torchrun numbers the ranks of a host one after the other",
)
