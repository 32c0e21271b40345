"""Request for a rank order: options of `plink order` and arguments of `plink.order`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Literal

from plink.base.arguments import MAX_SEED, check_instance, parse_size_argument
from plink.base.errors import WrongUseError
from plink.base.lazy import lazy_imports
from plink.base.request import option
from plink.base.size import DEFAULT_SIZE

with lazy_imports():
    from plink.formats import mesh as mesh_file
    from plink.solvers import limits

if TYPE_CHECKING:
    from plink.base.progress import OnProgress
    from plink.solvers.collectives.algorithm import Algorithm
    from plink.solvers.exact.prove import Engine
    from plink.solvers.limits import Deadline
    from plink.solvers.search import Solution

DistanceSource = Literal["estimate", "readings"]
Objective = Literal["latency", "contention", "bandwidth"]

# The share of the time limit for pricing random orders; and what that may take after an interrupt.
RANDOM_SHARE = 0.05
_AFTER_INTERRUPT_S = 0.1

# What pricing them may take where no time is left: a single one says little.
_LEAST_RANDOM_S = 0.05

MAX_SECONDS = 86_400
MAX_RANKS = 1 << 24
MAX_SLOTS = 1 << 16

DISTANCES_HELP = (
    "Distance of a pair: the best estimate, which draws a pair with disagreeing readings towards "
    "others of its groups, or the readings as measured."
)


def random_deadline(limit_s: float, found: Solution) -> Deadline:
    """Return the deadline for pricing random orders to compare with, after a search."""
    limit_s = min(limit_s, _AFTER_INTERRUPT_S) if found.is_interrupted else limit_s
    return limits.Deadline(max(_LEAST_RANDOM_S, limit_s))


@dataclass(frozen=True, kw_only=True)
class OrderRequest:
    """Request for a rank order: what to optimise, for how many ranks, and how long to search.

    Attributes:
        custom_algorithm: algorithm without a name, such as a trace's traffic, in place of
            `algorithm`.
        progress: called about twenty times a second while searching; None for no reports.
    """

    algorithm: str = option(
        "ring",
        "--algo",
        metavar="NAME",
        help="Collective algorithm that the order is for: ring, halving-doubling, tree, bcube, "
        "gloo-ring, openmpi-rabenseifner, ... (--list-algorithms).",
    )
    mesh: str | Mapping[str, int] | mesh_file.Mesh | None = option(
        None,
        kind="parsed",
        metavar="SIZES",
        excludes={"algorithm": "name the algorithm of a dimension in {traffic=tp=ring:2GB}"},
        help="Order ranks for the dimensions of a mesh instead of {algorithm}, each of whose "
        "groups runs a collective. As in PyTorch's DeviceMesh, the last dimension's ranks are "
        "neighbours. Example: {mesh=dp=4,pp=2,tp=2} "
        "{traffic=tp=20GB,dp=halving-doubling:2GB,pp=100MB}",
    )
    traffic: str | Mapping[str, str | int] | None = option(
        None,
        kind="parsed",
        metavar="BYTES",
        needs=("mesh", "dp=4,tp=2"),
        excludes={"size": "leave one of them out"},
        help="Bytes (or shares) that each dimension of the mesh moves per iteration, and "
        "optionally its algorithm as ALGO:BYTES; by default pp is a chain, ep all-to-all and "
        "others a ring. Dimensions left out have no traffic (default: {size} in each).",
    )
    objective: Objective | None = option(
        None,
        help="Cost to minimise: the sum of latencies, the predicted time of flows that share "
        "links, or the time of a Gbit over the bottleneck (default: contention if the file holds "
        "uplinks, else latency; bandwidth if it holds no round-trip times).",
    )
    size: str | int = option(
        DEFAULT_SIZE, kind="size", help="Size of the buffer, for contention: 20MB, 4KiB, 1024."
    )
    ranks: int | None = option(
        None,
        metavar="N",
        low=1,
        high=MAX_RANKS,
        help="Number of ranks (default: all slots). If there are more hosts than needed, the best "
        "are chosen.",
    )
    slots: int | None = option(
        None, low=1, high=MAX_SLOTS, help="Ranks on every host (default: the file's slots)."
    )
    interleave: bool = option(
        False,
        help="Allow ranks of a host not to be adjacent where that is cheaper; not every launcher "
        "supports it.",
    )
    percentile: float | None = option(
        None,
        low=0,
        high=100,
        help="Percentile that stands for a pair (default: the file's reading).",
    )
    distances: DistanceSource = option("estimate", help=DISTANCES_HELP)
    time_limit_s: float = option(
        2.0,
        "--time-limit",
        low=0,
        high=MAX_SECONDS,
        is_above_low=True,
        help="Seconds for everything but reading the file.",
    )
    seed: int = option(0, low=0, high=MAX_SEED, help="Seed of the random choices.")
    prove_s: float = option(
        0.0,
        "--prove",
        metavar="SECONDS",
        low=0,
        high=MAX_SECONDS,
        shows_default=False,
        help="Seconds in which an exact engine searches for a better order, or proves that there "
        "is none.",
    )
    engine: Engine = option(
        "cp-sat",
        kind="choice",
        choices=("cp-sat", "z3"),
        help="Exact engine of {prove_s}: OR-Tools' CP-SAT, or Z3 as in Luo 2020.",
    )
    threads: int = option(1, low=1, high=1024, help="Number of search threads.")
    executor: str | None = option(
        None,
        metavar="WHERE",
        excludes={"time_limit_s": "limit the search with {restarts} and {steps}"},
        help="Search by {restarts} of {steps} each, not by time, on an executor: local "
        "({threads}), dask://HOST:PORT or ray://HOST:PORT. The same seed gives the same order "
        "everywhere.",
    )
    restarts: int = option(
        8,
        low=1,
        high=1 << 20,
        needs=("executor", "local"),
        help="With {executor}: number of searches, each with its own seed.",
    )
    steps: int = option(
        1_000_000,
        low=1,
        high=1 << 40,
        needs=("executor", "local"),
        help="With {executor}: moves that each search tries (a search for a ring ends by itself).",
    )
    custom_algorithm: Algorithm | None = None
    progress: OnProgress | None = field(default=None, compare=False, repr=False)

    def validate(self) -> None:
        """Raise WrongUseError if the text of the mesh or of its traffic is invalid."""
        _ = self.device_mesh

    @cached_property
    def size_bytes(self) -> int:
        """Size of each rank's buffer in bytes.

        Raises:
            WrongUseError: `size` is not a size.
        """
        return parse_size_argument(self.size)

    @cached_property
    def device_mesh(self) -> mesh_file.Mesh | None:
        """Device mesh with its traffic; None for an order of one algorithm.

        Raises:
            WrongUseError: `mesh` or `traffic` does not describe one.
        """
        if self.traffic is not None:
            check_instance("traffic", self.traffic, (str, Mapping), "a text or a mapping")
        if isinstance(self.mesh, mesh_file.Mesh) and self.traffic is not None:
            raise WrongUseError(
                "{traffic} excludes a Mesh object, whose dimensions have traffic of their own",
                arguments={"traffic": None},
            )
        if self.mesh is None or isinstance(self.mesh, mesh_file.Mesh):
            return self.mesh
        check_instance("mesh", self.mesh, (str, Mapping), "a text, a mapping or a Mesh")
        traffic = None if self.traffic is None else _pairs_text(self.traffic)
        return mesh_file.parse_mesh(_pairs_text(self.mesh), traffic, self.size_bytes)


def _pairs_text(pairs: str | Mapping[str, str | int] | Mapping[str, int]) -> str:
    """Convert a mesh or its traffic to the text that the command line takes, as `dp=4,tp=8`."""
    if isinstance(pairs, str):
        return pairs
    return ",".join(f"{name}={value}" for name, value in pairs.items())
