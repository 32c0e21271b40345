"""Round-trip times in a cluster file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from plink.base.errors import WrongUseError
from plink.base.text import named
from plink.files import document
from plink.files.fields import Fields
from plink.files.measurement import (
    Counts,
    Matrix,
    Measurement,
    parse_record,
    record_to_json,
    replaced,
)

MAX_RTT_US = 60e6
_MAX_PERCENT = 1e9
_HALVES = ("odd", "even")
# What rounding may leave between the same number twice.
_SAME = 1e-9
# Significant digits of quality figures: nobody needs more.
_DIGITS = 3


@dataclass(frozen=True)
class RttMeasurement(Measurement):
    """Round-trip times of every ordered pair, as measured, [source][destination].

    Args:
        rtt_us: percentile (10.0, ...) to an (N, N) matrix in µs; NaN where not measured.
        reading: the percentile that stands for a pair (Luo 2020, §5.2.2: the 10th).
        samples: (N, N) echoes received.
        losses: (N, N) probes that came back too late or never.
        precision_percent: (N, N) how far the reading's passes disagree (`disagreement`), in per
            cent; where there are no passes, how far its 95 % confidence interval reaches to either
            side. NaN where unknown.
        disturbance: (N, N) the share of the measuring time, 0 to 1, that other work on the two
            hosts took from them in the pass that counts; NaN where unknown.
        passes: (N, N) how many meetings read this direction; None in files of earlier
            versions, whose pairs met once, and imported ones.
        halves_us: where there are passes, two (N, N) matrices in µs: the least reading of the odd
            passes and that of the even ones, NaN where there was none.

    Noise only ever adds to a round-trip time: of several passes the one with the least reading
    counts, in `rtt_us` for every percentile. `samples` and `losses` are of all of them.
    """

    rtt_us: Mapping[float, Matrix]
    reading: float
    samples: Counts
    losses: Counts
    precision_percent: Matrix | None = None
    disturbance: Matrix | None = None
    passes: Counts | None = None
    halves_us: tuple[Matrix, Matrix] | None = None

    @property
    def readings_us(self) -> Matrix:
        """The (N, N) matrix in µs of the percentile that stands for a pair."""
        return self.rtt_us[self.reading]

    @property
    def disagreement(self) -> Matrix:
        """(N, N): by which share the reading of one half of the passes exceeds the other's.

        NaN where a half is missing.
        """
        if self.halves_us is None:
            return np.full(self.readings_us.shape, np.nan)
        return disagreement(self.halves_us)

    def with_passes(self) -> RttMeasurement:
        """The same as passes: where every pair met once, that was the first of them."""
        if self.passes is not None:
            return self
        readings = self.readings_us
        return replace(
            self,
            passes=(~np.isnan(readings)).astype(np.int64),
            halves_us=(readings.copy(), np.full(readings.shape, np.nan)),
        )

    def for_hosts(self, places: Sequence[int | None]) -> RttMeasurement:
        """The same for other hosts; `places` has the index of each here, None for a new one."""
        return replace(
            self,
            rtt_us={
                percentile: replaced(matrix, places, np.nan)
                for percentile, matrix in self.rtt_us.items()
            },
            samples=replaced(self.samples, places, 0),
            losses=replaced(self.losses, places, 0),
            precision_percent=_replaced(self.precision_percent, places),
            disturbance=_replaced(self.disturbance, places),
            passes=None if self.passes is None else replaced(self.passes, places, 0),
            halves_us=None
            if self.halves_us is None
            else (
                replaced(self.halves_us[0], places, np.nan),
                replaced(self.halves_us[1], places, np.nan),
            ),
        )


def disagreement(halves_us: tuple[Matrix, Matrix]) -> Matrix:
    """By which share the larger of two (N, N) matrices in µs exceeds the smaller; NaN: unknown."""
    least, most = np.minimum(*halves_us), np.maximum(*halves_us)
    share = np.full(least.shape, np.nan)
    np.divide(most - least, least, out=share, where=least > 0.0)
    share[most == 0.0] = 0.0
    return share


def _replaced(matrix: Matrix | None, places: Sequence[int | None]) -> Matrix | None:
    return None if matrix is None else replaced(matrix, places, np.nan)


def percentile_name(percentile: float) -> str:
    """What files and messages call a percentile: `p10`, `p99.9`."""
    return f"p{percentile:g}"


def readings_at(rtt: RttMeasurement, percentile: float | None, source: str) -> tuple[float, Matrix]:
    """The percentile asked for, or else the one that stands for a pair, and its matrix in µs.

    Raises:
        WrongUseError: the measurement does not hold it; `source` names the file.
    """
    chosen = rtt.reading if percentile is None else percentile
    if chosen not in rtt.rtt_us:
        held = named([percentile_name(known) for known in sorted(rtt.rtt_us)])
        raise WrongUseError(
            f"{source}: holds no {percentile_name(chosen)}", f"choose a percentile of {held}"
        )
    return chosen, rtt.rtt_us[chosen]


def to_data(rtt: RttMeasurement) -> dict[str, Any]:
    """`rtt` as a JSON object whose matrices are arrays."""
    return {
        **record_to_json(rtt),
        "reading": percentile_name(rtt.reading),
        "rtt_us": {
            percentile_name(percentile): matrix for percentile, matrix in sorted(rtt.rtt_us.items())
        },
        "samples": rtt.samples,
        "losses": rtt.losses,
        **{
            name: matrix.round(_DIGITS)
            for name, matrix in (
                ("precision_percent", rtt.precision_percent),
                ("disturbance", rtt.disturbance),
            )
            if matrix is not None
        },
        **_passes_to_data(rtt),
    }


def _passes_to_data(rtt: RttMeasurement) -> dict[str, Any]:
    if rtt.passes is None or rtt.halves_us is None:
        return {}
    return {
        "passes": rtt.passes,
        "halves_us": dict(zip(_HALVES, rtt.halves_us, strict=True)),
    }


def parse(fields: Fields, size: int) -> RttMeasurement:
    """The round-trip times between `size` hosts.

    Raises:
        WrongUseError: invalid values.
    """
    by_percentile = fields.object("rtt_us")
    percentiles = {_parse_percentile(key, by_percentile): key for key in by_percentile.names()}
    rtt_us = {
        percentile: by_percentile.matrix(key, size, high=MAX_RTT_US)
        for percentile, key in sorted(percentiles.items())
    }
    reading = _parse_percentile(fields.text("reading"), fields)
    if reading not in rtt_us:
        raise fields.error("reading", "the name of a percentile that rtt_us holds")
    passes, halves_us = _parse_passes(fields, size, rtt_us[reading])
    return RttMeasurement(
        rtt_us=rtt_us,
        reading=reading,
        samples=fields.counts("samples", size),
        losses=fields.counts("losses", size),
        precision_percent=_optional_matrix(fields, "precision_percent", size, high=_MAX_PERCENT),
        disturbance=_optional_matrix(fields, "disturbance", size, high=1.0),
        passes=passes,
        halves_us=halves_us,
        **parse_record(fields),
    )


def _parse_passes(
    fields: Fields, size: int, readings_us: Matrix
) -> tuple[Counts, tuple[Matrix, Matrix]] | tuple[None, None]:
    """Both, or neither in a file whose pairs met once.

    Raises:
        WrongUseError: the halves are not those of the readings.
    """
    halves = fields.optional_object("halves_us")
    if halves is None:
        return None, None
    odd, even = (halves.matrix(name, size, high=MAX_RTT_US) for name in _HALVES)
    is_same = all(
        np.allclose(np.fmin(*halves), reading, rtol=_SAME, atol=0.0, equal_nan=True)
        for *halves, reading in zip(odd, even, readings_us, strict=True)
    )
    if not is_same:
        place = f"{fields.place}: halves_us"
        raise WrongUseError(f"{place}: the reading of a pair is not the lesser of its two halves")
    return fields.counts("passes", size), (odd, even)


def _optional_matrix(fields: Fields, name: str, size: int, high: float) -> Matrix | None:
    return None if fields.values.get(name) is None else fields.matrix(name, size, high)


def _parse_percentile(key: str, fields: Fields) -> float:
    try:
        percentile = float(key[1:])
    except ValueError:
        percentile = -1.0
    # One spelling a percentile: `p10` beside `p10.0` would be two matrices for one.
    if not 0.0 <= percentile <= 100.0 or key != percentile_name(percentile):
        found = document.brief(key)
        raise WrongUseError(f"{fields.place}: {found} is not a percentile (expected p0 to p100)")
    return percentile
