"""Request for predicted times: options of `plink predict` and arguments of `plink.predict`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from plink.base.arguments import MAX_SEED, check_texts, parse_size_argument
from plink.base.request import option
from plink.optimize.orders.request import DISTANCES_HELP, DistanceSource
from plink.plans.names import check_collectives

if TYPE_CHECKING:
    from plink.base.progress import OnProgress
    from plink.formats.cluster import Cluster


@dataclass(frozen=True, kw_only=True)
class PredictionRequest:
    """Request for predicted times: algorithms or collectives, and the buffer's size.

    Attributes:
        cluster: cluster that the order or the plan was made from; None for an order that has it.
        progress: called at the beginning of each algorithm; None for no reports.
    """

    size: str | int | None = option(
        None,
        kind="size",
        help="Bytes of the whole buffer, on each rank before or after the collective: 20M or 20MB "
        "(10^6), 4KiB (2^10), 1024 (default: a plan's; for an order of a mesh, the size of other "
        "algorithms).",
    )
    algorithms: str | Sequence[str] = option(
        (),
        "--algo",
        kind="texts",
        metavar="NAME",
        help="Algorithm to predict; may be given more than once (default: all that run with this "
        "number of ranks).",
    )
    collective: str | Sequence[str] | None = option(
        None,
        kind="parsed",
        metavar="NAMES",
        excludes={"algorithms": None},
        help="Collectives to predict: along a plan, these (default: all); in an order, all "
        "algorithms of these (default: of all-reduce).",
    )
    objective: Literal["latency", "contention"] | None = option(
        None, help="Cost to compare (default: contention where bandwidths are known)."
    )
    distances: DistanceSource = option("estimate", help=DISTANCES_HELP)
    seed: int = option(0, low=0, high=MAX_SEED, help="Seed of the random orders to compare with.")
    cluster: Cluster | None = None
    progress: OnProgress | None = field(default=None, compare=False, repr=False)

    def validate(self) -> None:
        """Raise WrongUseError if a collective to predict is unknown."""
        _ = self.collectives

    @property
    def size_bytes(self) -> int | None:
        """Size of the buffer in bytes; None to take that of the order or the plan.

        Raises:
            WrongUseError: `size` is not a size.
        """
        return None if self.size is None else parse_size_argument(self.size)

    @property
    def algorithm_names(self) -> list[str]:
        """Names of the algorithms to predict; empty for all."""
        return check_texts("algorithms", self.algorithms)

    @property
    def collectives(self) -> tuple[str, ...]:
        """Names of the collectives to predict along a plan; empty if not chosen.

        Raises:
            WrongUseError: one of them is not known.
        """
        return () if self.collective is None else check_collectives(self.collective)
