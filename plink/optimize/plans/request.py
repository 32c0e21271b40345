"""Request for an aggregation plan: options of `plink plan` and arguments of `plink.plan`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Literal

from plink.base.arguments import MAX_SEED, check_texts, parse_size_argument
from plink.base.errors import WrongUseError
from plink.base.request import option
from plink.base.size import DEFAULT_SIZE
from plink.optimize.orders.request import DISTANCES_HELP, DistanceSource
from plink.plans.names import ALL_REDUCE, COLLECTIVES, check_collectives

if TYPE_CHECKING:
    from plink.base.progress import OnProgress

Kind = Literal["auto", "2lha", "flat", "ring", "tree", "ps", "hub"]

MAX_RANKS_PER_HOST = 1 << 12


@dataclass(frozen=True, kw_only=True)
class PlanRequest:
    """Request for a plan: its kind, ranks, collectives, size and servers.

    Attributes:
        progress: called at the beginning of each stage; None for no reports.
    """

    kind: Kind = option(
        "auto",
        help="Kind of plan. 2lha: two levels, by groups. flat: a star for every rank. ring: chunks "
        "around a ring. tree: the double binary tree. With {servers}, ps: a star at each port. "
        "hub: by groups, to a server in each. auto: the kind predicted to be fastest.",
    )
    size: str | int = option(
        DEFAULT_SIZE,
        kind="size",
        help="Size of the buffer that the plan is for: 20MB, 4KiB, 1024.",
    )
    collective: str | Sequence[str] = option(
        ALL_REDUCE,
        kind="parsed",
        metavar="NAMES",
        help="Collectives to optimise the plan for, each of that size, repeated as often as it is "
        f"called: {', '.join(COLLECTIVES)}.",
    )
    ranks_per_host: int | None = option(
        None,
        low=1,
        high=MAX_RANKS_PER_HOST,
        help="Ranks on every host (default: the file's slots).",
    )
    servers: str | Sequence[str] = option(
        (),
        kind="texts",
        metavar="HOST[:PORTS]",
        section="Servers, for plink hub",
        help="Hosts that only aggregate, with their number of interfaces; HOST=ADDRESS+ADDRESS "
        "names the interfaces' addresses, and @RATE at the end their rate, as in box:4@25gbit. May "
        "be given more than once.",
    )
    distances: DistanceSource = option("estimate", help=DISTANCES_HELP)
    seed: int = option(0, low=0, high=MAX_SEED, help="Seed of the random choices.")
    progress: OnProgress | None = field(default=None, compare=False, repr=False)

    def validate(self) -> None:
        """Raise WrongUseError if a collective is unknown, or a kind of plan lacks its servers."""
        _ = self.collectives
        if self.kind in ("ps", "hub") and not self.servers:
            raise WrongUseError(
                "{kind=} needs {servers}",
                "name the servers: {servers=HOST}",
                arguments={"kind": self.kind, "servers": self.servers},
            )

    @cached_property
    def size_bytes(self) -> int:
        """Size of the buffer in bytes.

        Raises:
            WrongUseError: `size` is not a size.
        """
        return parse_size_argument(self.size)

    @cached_property
    def collectives(self) -> tuple[str, ...]:
        """Names of the plan's collectives, each as often as it is called.

        Raises:
            WrongUseError: one of them is not known.
        """
        return check_collectives(self.collective)

    @property
    def server_names(self) -> list[str]:
        """Texts of the requested servers, such as `box:4@25gbit` (see `parse_servers`)."""
        return check_texts("servers", self.servers)
