"""Environment variables of every rank, one line per rank: PyTorch with Gloo or NCCL, and JAX.

Gloo and NCCL choose an interface by name, and plink knows only its address: the host itself looks
the name up. Without it, Gloo binds to whatever the host's own name resolves to, on Debian often
loopback. Where `ip` is missing the value is empty, which counts as unset.

NCCL numbers hosts as they first come in rank order, and its rings and trees follow that number:
a host's ranks stay together, and the order is in RANK alone.

JAX reads JAX_COORDINATOR_ADDRESS itself (jax/_src/distributed.py); the program passes the two
others on, as `process_id` and `num_processes`. Under Slurm they must be passed too, because JAX
would otherwise make the first host of the node list the coordinator.
"""

from __future__ import annotations

from collections.abc import Sequence

from plink.deploy.launchers.format import (
    MASTER_PORT,
    Format,
    Place,
    check_names,
    is_address,
    master_address,
    places,
    ranks_by_host,
)
from plink.formats.hosts import Host

_USAGE = 'while read -r host env; do ssh -n "$host" "$env PROGRAM" & done < FILE; wait'


def render_torch(hosts: Sequence[Host]) -> str:
    """Return a line for each rank: host name, then variables for PyTorch such as RANK=0."""
    rows = torch_environments(hosts, "a list of environments")
    return "".join(_line(place, [*words, gloo_interface(place.host)]) for place, words in rows)


def render_nccl(hosts: Sequence[Host]) -> str:
    """Return a line for each rank as `render_torch` does, with NCCL_SOCKET_IFNAME too."""
    rows = torch_environments(hosts, "NCCL")
    # As PyTorch's master address, so NCCL's first meeting is at rank 0.
    family = ["NCCL_SOCKET_FAMILY=AF_INET6"] if ":" in hosts[0].address else []
    # With `=`, NCCL takes the name as a whole: `eth1` excludes `eth10`.
    name, whole = "NCCL_SOCKET_IFNAME", " | sed 's/^/=/'"
    return "".join(
        _line(place, [*words, *family, _assign_interface(name, place.host, whole)])
        for place, words in rows
    )


def render_jax(hosts: Sequence[Host]) -> str:
    """Return a line for each process: host name, then variables for JAX."""
    check_names(hosts, "JAX")
    address = master_address(hosts, "JAX")
    coordinator = f"[{address}]" if ":" in address else address
    processes = sum(host.slots for host in hosts)
    return "".join(
        _line(
            place,
            [
                f"JAX_COORDINATOR_ADDRESS={coordinator}:{MASTER_PORT}",
                f"JAX_NUM_PROCESSES={processes}",
                f"JAX_PROCESS_ID={place.rank}",
            ],
        )
        for place in places(hosts)
    )


def torch_environments(hosts: Sequence[Host], launcher: str) -> list[tuple[Place, list[str]]]:
    """Return each rank's host and local rank, and its `NAME=value` variables for `env://`.

    Raises:
        WrongUseError: a name is not a host name, or rank 0 has no address; `launcher` reads the
            file.
    """
    check_names(hosts, launcher)
    master = master_address(hosts, launcher)
    ranks_on = ranks_by_host(hosts)
    return [
        (
            place,
            [
                f"RANK={place.rank}",
                f"WORLD_SIZE={ranks_on.total()}",
                f"LOCAL_RANK={place.local_rank}",
                f"LOCAL_WORLD_SIZE={ranks_on[place.host.name]}",
                f"MASTER_ADDR={master}",
                f"MASTER_PORT={MASTER_PORT}",
            ],
        )
        for place in places(hosts)
    ]


def gloo_interface(host: Host) -> str:
    """Return a shell assignment of GLOO_SOCKET_IFNAME; empty if the host's address is a name."""
    return _assign_interface("GLOO_SOCKET_IFNAME", host, "")


def _assign_interface(variable: str, host: Host, more: str) -> str:
    if not is_address(host.address):
        return ""
    return f"{variable}=$(ip -o addr show to {host.address} | cut -d' ' -f2{more})"


def _line(place: Place, words: Sequence[str]) -> str:
    """Return a rank's line of a file of environments: host name, then variables."""
    return " ".join(word for word in [place.host.name, *words] if word) + "\n"


TORCH = Format(
    name="env",
    about="one environment per rank for torch.distributed and Gloo (RANK, MASTER_ADDR, ...)",
    usage=_USAGE,
    render=render_torch,
)
NCCL = Format(
    name="nccl",
    about="one environment per rank for torch.distributed with NCCL",
    usage=_USAGE,
    render=render_nccl,
    adjacent_because="NCCL takes hosts as they come, with all their ranks together",
    caveat="RCCL on Strix Halo (gfx1151) makes rings of its own between hosts, each another one: "
    "no order of ranks decides them (plink verify --launcher nccl --log shows it)",
)
JAX = Format(
    name="jax",
    about="JAX: one environment per process (coordinator address, process id, processes)",
    usage=_USAGE,
    render=render_jax,
)
