"""Requests to run clients: to compare them, their plans and orders, or to fit their costs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from plink.base.arguments import MAX_SEED, check_texts
from plink.base.errors import WrongUseError
from plink.base.request import option
from plink.base.size import DEFAULT_SIZE, parse_size
from plink.plans.names import ALL_REDUCE, COLLECTIVES, check_collectives

# Options of all requests.
_TIMEOUT_S: Any = option(
    60.0,
    "--timeout",
    low=0.1,
    high=86_400,
    help="Time limit of one repetition, in seconds.",
)
_MPICC: Any = option(None, metavar="PATH", help="MPI: the compiler wrapper on this machine.")
_MPIRUN: Any = option(None, metavar="PATH", help="MPI: the launcher on this machine.")
_REMOTE_CACHE: Any = option(
    None, metavar="DIR", help="MPI: folder on the hosts to copy the program to."
)


@dataclass(frozen=True, kw_only=True)
class ComparisonRequest:
    """Clients to run on the hosts of a cluster, with what, and how often."""

    client: str = option(
        "gloo",
        metavar="LIST",
        help="Clients to run, as installed on the hosts: engine and hub (plink's own), gloo and "
        "nccl (PyTorch's), openmpi, mpich; several are compared with each other.",
    )
    algo: str | None = option(
        None,
        metavar="LIST",
        help="Algorithms to run. For a library, set by its own switches: ring (default), tree, "
        "segmented-ring, recursive-doubling, rabenseifner, reduce-scatter-allgather. For the "
        "engine, kinds of plans: auto (default), 2lha, flat, ring, tree.",
    )
    collective: str | Sequence[str] = option(
        ALL_REDUCE,
        kind="parsed",
        metavar="NAMES",
        help=f"Collectives that the engine and Gloo run, each by itself: {', '.join(COLLECTIVES)}.",
    )
    plan: str | Sequence[str] = option(
        (),
        kind="texts",
        metavar="FILE",
        help="Plan file for the engine; for the hub, one with servers. May be repeated.",
    )
    size: str = option(
        DEFAULT_SIZE,
        metavar="LIST",
        help="Sizes in bytes of the whole buffer, on each rank before or after the collective: 20M "
        "or 20MB (10^6), 4KiB (2^10), 1024.",
    )
    orders: str | None = option(
        None,
        metavar="LIST",
        help="Orders of a library's ranks: given, plink, random:N, spread:N, an order file, "
        "file:NAMES (default: given,plink,random:5; given,plink for several clients or sizes).",
    )
    correlate: bool = option(
        False,
        help="Measure how well predictions rank orders (with {orders=spread:12} unless given).",
    )
    ranks: int | None = option(
        None,
        metavar="N",
        low=2,
        high=1 << 24,
        help="Number of ranks (default: all slots); each order then uses as many hosts as it "
        "needs.",
    )
    slots: int | None = option(None, low=1, high=1024, help="Ranks on every host (default: 1).")
    rounds: int = option(
        3, low=1, high=1000, help="Number of times that everything is launched, interleaved."
    )
    repetitions: int = option(3, low=1, high=100_000, help="Timed repetitions of each launch.")
    warmups: int = option(1, low=0, high=100_000, help="Untimed repetitions before the timed ones.")
    seed: int = option(
        0,
        low=0,
        high=MAX_SEED,
        help="Seed of the random orders, plink's search and the sequence of launches.",
    )
    time_limit_s: float = option(
        2.0,
        "--time-limit",
        low=0,
        high=86_400,
        is_above_low=True,
        help="Seconds to search for plink's order.",
    )
    timeout_s: float = _TIMEOUT_S
    python: str | None = option(
        None, metavar="PATH", help="Engine, Gloo, NCCL: Python interpreter on the hosts."
    )
    tls: str | None = option(
        None,
        metavar="FOLDER",
        help="Engine: encrypt, with the certificates in this folder on the hosts.",
    )
    mpicc: str | None = _MPICC
    mpirun: str | None = _MPIRUN
    remote_cache: str | None = _REMOTE_CACHE

    def validate(self) -> None:
        """Raise if a collective or a size is none, or is named twice."""
        for name, values in (("collective", self.collectives), ("size", self.sizes)):
            if len(set(values)) < len(values):
                raise WrongUseError(
                    f"{{{name}}} names a {name} twice", arguments={name: getattr(self, name)}
                )

    @property
    def collectives(self) -> tuple[str, ...]:
        """Names of the collectives.

        Raises:
            WrongUseError: one of them is not known.
        """
        return check_collectives(self.collective)

    @property
    def plan_files(self) -> list[str]:
        """Paths of the plan files."""
        return check_texts("plan", self.plan)

    @property
    def algorithms(self) -> list[str]:
        """Names of the algorithms and kinds of plans; none for the usual ones."""
        return [] if self.algo is None else [word.strip() for word in self.algo.split(",")]

    @property
    def order_files(self) -> list[str]:
        """Words of the orders that may be the names of files."""
        words = (self.orders or "").split(",")
        return [word.strip().removeprefix("file:") for word in words]

    @property
    def sizes(self) -> list[int]:
        """Sizes of the buffer in bytes.

        Raises:
            WrongUseError: one of them is not a size.
        """
        return _parse_sizes(self.size)


@dataclass(frozen=True, kw_only=True)
class CostRequest:
    """Client whose software costs are fitted, and the launches that show them."""

    client: Literal["engine", "gloo", "openmpi", "mpich"] = option(
        "engine",
        is_required=True,
        help="Client to fit, as in plink bench.",
    )
    hosts: int = option(8, low=2, high=64, help="Number of hosts to use at most, from two groups.")
    size: str = option(
        "64KB,1MB,4MB", metavar="LIST", help="Sizes of the buffer, separated by commas."
    )
    repetitions: int = option(4, low=2, high=1000, help="Timed repetitions of each size.")
    timeout_s: float = _TIMEOUT_S
    python: str | None = option(
        None, metavar="PATH", help="Engine, Gloo: the interpreter on the hosts."
    )
    mpicc: str | None = _MPICC
    mpirun: str | None = _MPIRUN
    remote_cache: str | None = _REMOTE_CACHE

    def validate(self) -> None:
        """Raise if a size is none."""
        _ = self.sizes

    @property
    def sizes(self) -> list[int]:
        """Sizes of the buffer in bytes, ascending.

        Raises:
            WrongUseError: one of them is not a size.
        """
        return sorted(set(_parse_sizes(self.size)))


def _parse_sizes(sizes: str) -> list[int]:
    try:
        return [parse_size(text) for text in sizes.split(",")]
    except WrongUseError as error:
        raise WrongUseError(f"{{size}} {error}", error.hint, arguments={"size": sizes}) from None
