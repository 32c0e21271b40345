"""Which allreduce algorithms each client can be told to run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from plink.base.errors import WrongUseError

ALGORITHMS_OF: Mapping[str, Sequence[str]] = {
    "gloo": ("ring",),
    "openmpi": ("ring", "segmented-ring", "recursive-doubling", "rabenseifner"),
    "mpich": ("ring", "recursive-doubling", "reduce-scatter-allgather"),
}


def check_algorithm(client: str, algorithm: str) -> None:
    """Refuse an algorithm that the client cannot be told to run.

    Raises:
        WrongUseError: it is none of the client's.
    """
    known = ALGORITHMS_OF[client]
    if algorithm not in known:
        raise WrongUseError(
            f"{client} cannot be told to run {algorithm}",
            f"--algo with --client {client}: {', '.join(known)}",
        )


def full_name(client: str, algorithm: str) -> str:
    """What the algorithm is called among all libraries': `openmpi-ring`."""
    return f"{client}-{algorithm}"
