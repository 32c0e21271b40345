"""Requests for a simulation: what runs, and the data centre that it runs in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from plink.base.arguments import MAX_SEED, check_texts, parse_size_argument
from plink.base.request import option
from plink.base.size import DEFAULT_SIZE
from plink.plans.names import check_collectives

_MAX_PARTS = 65_536
_SHAPES = ("racks", "fat_tree", "dragonfly")


@dataclass(frozen=True, kw_only=True)
class DataCentreRequest:
    """Description of a data centre, as racks, a fat tree or a dragonfly; none by default."""

    racks: int | None = option(None, low=1, high=_MAX_PARTS, help="Number of racks to simulate.")
    hosts: int = option(
        16,
        low=1,
        high=_MAX_PARTS,
        needs=("racks", "16"),
        help="With {racks}: number of hosts per rack.",
    )
    oversubscription: float = option(
        1.0,
        low=0.01,
        high=1e6,
        metavar="X",
        needs=("racks", "16"),
        help="With {racks}: summed rate of a rack's hosts over the rate of its uplink.",
    )
    rows: int = option(
        1,
        low=1,
        high=_MAX_PARTS,
        needs=("racks", "16"),
        help="With {racks}: number of rows of racks, each with its own uplink.",
    )
    row_oversubscription: float = option(
        1.0,
        low=0.01,
        high=1e6,
        metavar="X",
        needs=("rows", "4"),
        help="With {rows}: summed rate of a row's rack uplinks over the rate of the row's uplink.",
    )
    fat_tree: str | None = option(
        None,
        metavar="DOWN:UP[:LINKS]",
        excludes={"racks": None},
        help="Simulate a fat tree: for each level from the lowest, elements below a switch, "
        "switches above an element, links to each. 16,8:1,4 is 8 switches of 16 hosts, with a "
        "link to each of 4 others.",
    )
    dragonfly: str | None = option(
        None,
        metavar="G,C,R,N[:L,L,L]",
        excludes={"racks": None, "fat_tree": None},
        help="Simulate a dragonfly: groups, chassis per group, routers per chassis, hosts per "
        "router; links between groups, chassis and routers (default: 1).",
    )
    rate_gbit_s: float = option(
        10.0,
        "--rate",
        low=1e-6,
        high=1e6,
        metavar="GBIT/S",
        needs=(_SHAPES, "16"),
        help="Rate of every host's link in a described data centre.",
    )
    hop_us: float = option(
        1.0,
        "--hop",
        low=0,
        high=1e6,
        metavar="US",
        needs=(_SHAPES, "16"),
        help="One-way latency of every link in a described data centre.",
    )

    @property
    def shape(self) -> str | None:
        """Name of the option that describes the data centre; None without one."""
        return next((name for name in _SHAPES if getattr(self, name) is not None), None)

    @property
    def links(self) -> dict[str, Any]:
        """Rate and latency of every link, as `plink.simulate.datacentres` takes them."""
        return {"rate_gbit_s": self.rate_gbit_s, "hop_us": self.hop_us}


@dataclass(frozen=True, kw_only=True)
class SimulationRequest:
    """Workloads to simulate, and the orders in which ranks run them."""

    algorithms: str | Sequence[str] = option(
        (),
        "--algo",
        kind="texts",
        metavar="NAME",
        help="Algorithm to simulate; smpi:NAME for the code of a real one (lr, rdb, rab, or the "
        "choice of ompi or mpich); plan:KIND for plink's engine along a plan; control:MODE (tree, "
        "full, full-tree, bitvector) for the messages of ranks that agree on collectives. May be "
        "given more than once (default: openmpi-ring, openmpi-recursive-doubling, "
        "openmpi-rabenseifner).",
    )
    collective: str | Sequence[str] | None = option(
        None,
        kind="parsed",
        metavar="NAMES",
        help="Collectives to simulate along a plan (default: all-reduce).",
    )
    servers: str | Sequence[str] = option(
        (),
        kind="texts",
        metavar="HOST[:PORTS][@RATE]",
        help="Hosts that only aggregate, as in plink plan: for plan:KIND (ps, hub, and plans "
        "without servers, all of which are compared if no {algorithms} is given), or to set the "
        "rates of a plan's server ports.",
    )
    tuner: str | None = option(
        None,
        metavar="HOST:SHARE|GROUP:SHARE|nothing",
        excludes={"algorithms": None, "servers": None},
        help="Simulate a tuned job while these links fall to a share of their rate and recover: "
        "h05:0.4,g2:0.3.",
    )
    size: str | int | None = option(
        None,
        kind="size",
        help="Bytes of each rank's buffer: 20M or 20MB (10^6), 4KiB (2^10), 1024 (default: a "
        f"plan's, else {DEFAULT_SIZE}).",
    )
    random_orders: int = option(
        3, "--random", low=0, high=1000, help="Number of random orders to compare with."
    )
    search_s: float = option(
        2.0,
        "--search",
        low=0,
        high=3600,
        metavar="SECONDS",
        help="Seconds to search plink's order of each algorithm; 0 for none.",
    )
    timeout_s: float = option(
        600.0,
        "--timeout",
        low=0.01,
        high=86_400,
        metavar="SECONDS",
        help="Seconds that one simulation may run; its time is missing if it takes longer.",
    )
    rounds: int | None = option(
        None,
        low=2,
        high=1_000_000,
        metavar="N",
        help="Number of rounds to simulate of algorithms with similar rounds (rings); the others "
        "are extrapolated (default: all).",
    )
    as_flows: bool = option(
        False,
        "--flows",
        help="For plans: simulate all data from one host to another as one flow, all at once, "
        "instead of chunks that wait for each other.",
    )
    seed: int = option(0, low=0, high=MAX_SEED, help="Seed of the random choices.")

    def validate(self) -> None:
        """Raise if a collective is not known."""
        _ = self.collectives

    @property
    def size_bytes(self) -> int:
        """Size of each rank's buffer in bytes.

        Raises:
            WrongUseError: `size` is not a size.
        """
        return parse_size_argument(DEFAULT_SIZE if self.size is None else self.size)

    @property
    def algorithm_names(self) -> list[str]:
        """Names of the algorithms."""
        return check_texts("algorithms", self.algorithms)

    @property
    def server_names(self) -> list[str]:
        """The servers, as `plink.optimize.plans.servers` reads them."""
        return check_texts("servers", self.servers)

    @property
    def collectives(self) -> tuple[str, ...]:
        """Names of the collectives; none where they were not chosen.

        Raises:
            WrongUseError: one of them is not known.
        """
        return () if self.collective is None else check_collectives(self.collective)
