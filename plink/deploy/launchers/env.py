"""The environment of `torch.distributed` and Gloo, for every rank."""

from __future__ import annotations

from collections.abc import Sequence

from plink.deploy.launchers.format import Format, Place, places, ranks_by_host
from plink.deploy.launchers.gloo import socket_interface
from plink.deploy.launchers.names import MASTER_PORT, check_names, master_address
from plink.files.cluster import Host

USAGE = 'while read -r host env; do ssh -n "$host" "$env PROGRAM" & done < FILE; wait'


def render(hosts: Sequence[Host]) -> str:
    """One line per rank: the host's name, then assignments for a shell on that host."""
    rows = environments(hosts, "a list of environments")
    return "".join(line(place, [*words, socket_interface(place.host)]) for place, words in rows)


def environments(hosts: Sequence[Host], launcher: str) -> list[tuple[Place, list[str]]]:
    """The place of every rank, and the assignments that PyTorch reads (`env://`).

    Raises:
        WrongUseError: a name is none, or rank 0 has no address; `launcher` reads the file.
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


def line(place: Place, words: Sequence[str]) -> str:
    """The line of one rank; words that are empty are left out."""
    return " ".join(word for word in [place.host.name, *words] if word) + "\n"


FORMAT = Format(
    name="env",
    about="one environment a rank for torch.distributed and Gloo (RANK, MASTER_ADDR, ...)",
    usage=USAGE,
    render=render,
)
