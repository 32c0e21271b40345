"""Request for the groups of near hosts."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from plink.base.arguments import MAX_SEED
from plink.base.request import option

if TYPE_CHECKING:
    from plink.base.progress import OnProgress

Method = Literal["auto", "levels", "linkage", "kmeans"]

_DEFAULT_ELASTICITY = 2.0


@dataclass(frozen=True, kw_only=True)
class GroupRequest:
    """Request for groups of near hosts: method, number of groups, elasticity and seed.

    Attributes:
        progress: called at the beginning of each stage; None for no reports.
    """

    k: int | None = option(
        None,
        low=1,
        high=1 << 16,
        help="Number of groups (default: what the distances show; √N with linkage and kmeans).",
    )
    elasticity: float | None = option(
        None,
        low=1.0,
        high=2.0,
        help="Unevenness of group sizes, from 1 (balanced) to 2 (default: 2).",
    )
    method: Method = option(
        "auto",
        help="levels: groups of any size, as the distances show them. linkage, kmeans: balanced "
        "groups. auto: levels, or linkage if {k} or {elasticity} is given.",
    )
    seed: int = option(0, low=0, high=MAX_SEED, help="Seed of the random choices.")
    progress: OnProgress | None = field(default=None, compare=False, repr=False)

    @property
    def chosen(self) -> str:
        """Grouping method after resolving `auto`."""
        if self.method != "auto":
            return self.method
        return "levels" if self.k is None and self.elasticity is None else "linkage"

    @property
    def most_uneven(self) -> float:
        """Elasticity of group sizes, from 1 (equal sizes) to 2; the default, 2, if not given."""
        return _DEFAULT_ELASTICITY if self.elasticity is None else self.elasticity
