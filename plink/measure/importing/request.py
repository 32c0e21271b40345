"""Request to import other programs' measurements."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from plink.base.arguments import parse_size_argument
from plink.base.errors import WrongUseError
from plink.base.lazy import lazy_imports
from plink.base.request import option
from plink.base.text import join_texts

with lazy_imports():
    from plink.formats import units

if TYPE_CHECKING:
    from plink.formats.units import RateUnit, TimeUnit


@dataclass(frozen=True, kw_only=True)
class ImportRequest:
    """Request to import other programs' measurements: unit, percentile and message size."""

    unit: str | None = option(
        None,
        metavar="UNIT",
        help="Unit of the numbers where a table names none: ns, us, ms, s, Gbit/s, MB/s, ...",
    )
    percentile: float = option(
        10.0, low=0, high=100, help="Percentile of a pair's samples that the numbers are."
    )
    size: str | int | None = option(
        None,
        kind="size",
        help="Message size to take bandwidths from, such as 32MiB (default: the fastest).",
    )

    @property
    def size_bytes(self) -> int | None:
        """Message size in bytes whose bandwidths are imported; None for the fastest of any size.

        Raises:
            WrongUseError: `size` is not a size.
        """
        return None if self.size is None else parse_size_argument(self.size)

    @property
    def parsed_unit(self) -> RateUnit | TimeUnit | None:
        """Unit of time or bandwidth for numbers without one; None if the user named none.

        Raises:
            WrongUseError: it is none of time or bandwidth, or one that may be two.
        """
        if self.unit is None:
            return None
        name = units.find_time_unit_by_name(self.unit)
        if name is not None:
            return units.TimeUnit(name, units.TIMES[name])
        rate_unit = units.find_rate_unit(self.unit)
        if rate_unit is None:
            known = join_texts([*sorted(units.TIMES), "Gbit/s", "GB/s"], "or")
            raise WrongUseError(
                f"{{unit}} is {self.unit!r}, expected {known}", arguments={"unit": self.unit}
            )
        return rate_unit
