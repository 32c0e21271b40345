"""Measurements between the hosts of a cluster: round-trip times, bandwidths and routes.

Every matrix is (N, N), [source][destination], in the order of the cluster's hosts.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, get_type_hints

import numpy as np
import numpy.typing as npt
from msgspec import Meta, Struct
from msgspec.structs import replace

from plink.base.arguments import to_finite_number
from plink.base.errors import WrongUseError
from plink.formats.limits import (
    MAX_GBIT_S,
    MAX_HOSTS,
    MAX_INT,
    MAX_RTT_US,
    Seconds,
    Text,
    Word,
    check_settings,
)
from plink.formats.matrices import (
    MAX_COUNT,
    Array,
    Counts,
    Matrix,
    constrain_rows,
    find_outside,
    find_row_limits,
    format_bound,
    move_hosts,
)
from plink.formats.structs import FormatError

if TYPE_CHECKING:
    from typing_extensions import Self

MAX_HOPS = 255
# In the matrix of routes: not known.
NO_ROUTE = -1
# A benchmark compared what arrived with what should have arrived, and it differed.
WRONG_RESULTS = "wrong results"

_MAX_PERCENT = 1e9
_MAX_RETRANSMITS = 1e15
_MAX_MESSAGE_BYTES = 1e18
# What rounding may leave between the same number twice.
_SAME = 1e-9

_RTT_US = constrain_rows("number", MAX_RTT_US)
_COUNTS = constrain_rows("integer", MAX_COUNT, may_be_unknown=False)

Percentile = Annotated[float, Meta(ge=0, le=100)]
# Addresses of the routers on the way, None for one that does not show itself.
Route = tuple[Word | None, ...]


class Failure(Struct, frozen=True, forbid_unknown_fields=True):
    """Host, or pair of hosts if `destination` is set, that could not be measured.

    Attributes:
        source: name of the host
        reason: why, in words
        destination: name of the other host of the pair
        kind: `wrong results` if a benchmark found that what arrived was damaged
    """

    source: Text
    reason: Text
    destination: Text | None = None
    kind: Text | None = None

    def __str__(self) -> str:
        ends = self.source + (f" to {self.destination}" if self.destination else "")
        return f"{ends}: {self.reason}"


class Measurement(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Record of one measurement: tool, options, time, duration and failures.

    Attributes:
        tool: what measured it: `echo`, `fping`, `iperf3`, `import`, ...
        options: options that it ran with
        started: when, ISO 8601 in UTC
        seconds: time that the probing took, in s
        failures: pairs and hosts that could not be measured
        notes: what a reader should know before trusting the readings
    """

    tool: Text
    options: Mapping[str, Any] = {}
    started: Text | None = None
    seconds: Seconds = 0.0
    failures: Sequence[Failure] = []
    notes: Sequence[str] = []

    # Count of a pair that was not measured.
    NO_COUNT: ClassVar = 0

    def __post_init__(self) -> None:
        check_settings(self.options, "options")

    def for_hosts(self, places: Sequence[int | None]) -> Self:
        """Return the measurement rearranged for another list of hosts; new hosts are unmeasured.

        Args:
            places: index of each host here, None for a new one.
        """

        def move(value: Any) -> Any:
            if isinstance(value, np.ndarray):
                fill = np.nan if value.dtype.kind == "f" else self.NO_COUNT
                return move_hosts(value, places, fill)
            if isinstance(value, Halves):
                return Halves(*map(move, value))
            is_by_percentile = isinstance(value, Mapping)
            return {name: move(item) for name, item in value.items()} if is_by_percentile else value

        members = {name: move(getattr(self, name)) for name in self.__struct_fields__}
        return replace(self, **members)


class Halves(Struct, frozen=True, forbid_unknown_fields=True):
    """Least reading in µs of each pair in the odd passes over all pairs, and in the even ones.

    Attributes:
        odd: least reading of the odd passes, in µs
        even: least reading of the even passes, in µs
    """

    odd: Annotated[Matrix, _RTT_US]
    even: Annotated[Matrix, _RTT_US]

    def __iter__(self) -> Iterator[Matrix]:
        return iter((self.odd, self.even))


class RttMeasurement(Measurement, frozen=True, forbid_unknown_fields=True):
    """Measured round-trip times in µs of every ordered pair of hosts, by percentile.

    Noise only ever adds to a round-trip time: of several passes the one with the least reading
    counts, in `rtt_us` for every percentile. `samples` and `losses` are of all of them.

    Attributes:
        reading: percentile that stands for a pair (Luo 2020, §5.2.2: the 10th)
        rtt_us: round-trip times in µs for each percentile; null if not measured
        samples: echoes that came back in time
        losses: probes that did not
        precision_percent: how far the passes of a reading disagree, or, if there are no passes, how
            far its 95 % confidence interval reaches to either side, in per cent
        disturbance: share of the measuring time, 0 to 1, that other work on the two hosts took in
            the pass that counts
        passes: number of passes that gave a reading in this direction
        halves_us: readings of the odd passes and of the even ones
    """

    rtt_us: Annotated[Mapping[Percentile, Annotated[Matrix, _RTT_US]], Meta(min_length=1)]
    reading: Percentile
    samples: Annotated[Counts, _COUNTS]
    losses: Annotated[Counts, _COUNTS]
    precision_percent: Annotated[Matrix, constrain_rows("number", _MAX_PERCENT)] | None = None
    disturbance: Annotated[Matrix, constrain_rows("number", 1.0)] | None = None
    passes: Annotated[Counts, _COUNTS] | None = None
    halves_us: Halves | None = None

    def __post_init__(self) -> None:
        check_settings(self.options, "options")
        if self.reading not in self.rtt_us:
            raise ValueError(f"reading is {self.reading:g}, expected a percentile in rtt_us")

    @property
    def readings_us(self) -> Matrix:
        """Readings in µs, shape (N, N): the percentile chosen by `reading`; NaN if not measured."""
        return self.rtt_us[self.reading]

    @property
    def disagreement(self) -> Matrix:
        """Relative difference of odd and even passes' readings, (N, N); NaN if one is missing."""
        if self.halves_us is None:
            return np.full(self.readings_us.shape, np.nan)
        return disagreement(self.halves_us)

    def with_passes(self) -> RttMeasurement:
        """Return the measurement with counts of passes; if none are recorded, each pair has one."""
        if self.passes is not None:
            return self
        readings = self.readings_us
        return replace(
            self,
            passes=(~np.isnan(readings)).astype(np.int64),
            halves_us=Halves(readings.copy(), np.full(readings.shape, np.nan)),
        )

    def overlay(self, above: RttMeasurement, is_above: npt.NDArray[np.bool_]) -> RttMeasurement:
        """Return the measurement with the readings of another one laid over those of some pairs.

        What only one of them records (precision, disturbance) is NaN for the other's pairs; tool,
        options, times, failures and notes are not touched.

        Args:
            above: of the same hosts, at the same percentiles.
            is_above: (N, N) the pairs whose readings are those of `above`.
        """
        over, under = above, self
        if over.passes is not None or under.passes is not None:
            over, under = over.with_passes(), under.with_passes()

        def lay(name: str) -> Any:
            top, bottom = getattr(over, name), getattr(under, name)
            if top is None and bottom is None:
                return None
            empty = np.full(is_above.shape, np.nan)
            return np.where(
                is_above, empty if top is None else top, empty if bottom is None else bottom
            )

        halves_us = None
        if over.halves_us is not None and under.halves_us is not None:
            halves = zip(over.halves_us, under.halves_us, strict=True)
            halves_us = Halves(*(np.where(is_above, *both) for both in halves))
        return replace(
            self,
            rtt_us={
                percentile: np.where(is_above, over.rtt_us[percentile], times_us)
                for percentile, times_us in self.rtt_us.items()
            },
            samples=lay("samples"),
            losses=lay("losses"),
            precision_percent=lay("precision_percent"),
            disturbance=lay("disturbance"),
            passes=lay("passes"),
            halves_us=halves_us,
        )


class BandwidthMeasurement(Measurement, frozen=True, forbid_unknown_fields=True):
    """Measured bandwidth in Gbit/s of every ordered pair of hosts.

    Attributes:
        gbit_s: what the destination received, in Gbit/s; null if not measured
        retransmits: TCP segments that were sent again; null if unknown
        message_bytes: size of the messages that reached that rate, in bytes; absent if the tool
            sends no messages
    """

    gbit_s: Annotated[Matrix, constrain_rows("number", MAX_GBIT_S)]
    retransmits: Annotated[Matrix, constrain_rows("number", _MAX_RETRANSMITS)]
    message_bytes: Annotated[Matrix, constrain_rows("number", _MAX_MESSAGE_BYTES)] | None = None


class RouteMeasurement(Measurement, frozen=True, forbid_unknown_fields=True):
    """Measured routes from every host to every other, hop by hop.

    Attributes:
        hops: hops as traceroute counts them, 1 within a segment; null if not measured
        route_of: index in `routes`; null or below 0 if not known
        routes: every distinct sequence of routers; null for one that does not show itself
    """

    NO_COUNT: ClassVar = NO_ROUTE

    hops: Annotated[Matrix, constrain_rows("number", MAX_HOPS)]
    route_of: Annotated[Counts, constrain_rows("integer", MAX_HOSTS**2)]
    routes: Sequence[Annotated[Route, Meta(max_length=MAX_HOPS)]]


def disagreement(halves_us: Iterable[Matrix]) -> Matrix:
    """Return the share by which the larger of two readings exceeds the smaller; NaN if unknown."""
    odd, even = halves_us
    least, most = np.minimum(odd, even), np.maximum(odd, even)
    share = np.full(least.shape, np.nan)
    np.divide(most - least, least, out=share, where=least > 0.0)
    share[most == 0.0] = 0.0
    return share


def percentile_name(percentile: float) -> str:
    """Return the name of a percentile in messages: `p10`, `p99.9`."""
    return f"p{percentile:g}"


def readings_at(rtt: RttMeasurement, percentile: float | None, source: str) -> tuple[float, Matrix]:
    """Return a percentile (None: the file's own) and its (N, N) µs; WrongUseError if not measured.

    Args:
        rtt: round-trip times.
        percentile: one that was measured; None for the default, `rtt.reading`.
        source: what messages call the file.

    Raises:
        WrongUseError: the measurement does not hold it; no other one is taken in its place.
    """
    chosen = rtt.reading if percentile is None else percentile
    if chosen not in rtt.rtt_us:
        held = ", ".join(percentile_name(known) for known in sorted(rtt.rtt_us))
        raise WrongUseError(
            f"{source}: has no round-trip times at {percentile_name(chosen)}",
            f"choose a percentile of {held}",
        )
    return chosen, rtt.rtt_us[chosen]


def check_rtt(rtt: RttMeasurement, size: int, source: str) -> None:
    """Raise FormatError if a file's round-trip times have matrices of a wrong shape or value."""
    check_matrices(rtt, size, source, "rtt")
    if (rtt.passes is None) != (rtt.halves_us is None):
        raise FormatError(source, "rtt", "passes and halves_us must both be there, or neither")
    if rtt.halves_us is None:
        return
    for odd, even, reading in zip(*rtt.halves_us, rtt.readings_us, strict=True):
        if not np.allclose(np.fmin(odd, even), reading, rtol=_SAME, atol=0.0, equal_nan=True):
            reason = "the lesser of odd and even must be the reading of every pair"
            raise FormatError(source, "rtt.halves_us", reason)


def check_routes(routes: RouteMeasurement, size: int, source: str) -> None:
    """Raise FormatError if a file's routes have matrices of a wrong shape or value."""
    check_matrices(routes, size, source, "routes")
    if (routes.hops % 1 > 0).any():
        raise FormatError(source, "routes.hops", "numbers of hops must be whole")
    _check(routes.route_of, size, len(routes.routes) - 1, source, "routes.route_of", least=NO_ROUTE)


def check_matrices(record: Struct, size: int, source: str, place: str) -> None:
    """Raise FormatError if a matrix is not (N, N), or has a number outside its limits.

    Args:
        record: record whose members are annotated by `constrain_rows`.
        size: number of hosts, N.
        source: what messages call the file.
        place: path of the record in the file.
    """
    for name, hint in _resolve_hints(type(record)).items():
        value, inside = getattr(record, name), f"{place}.{name}"
        if isinstance(value, Halves):
            check_matrices(value, size, source, inside)
            continue
        matrices = {inside: value} if isinstance(value, np.ndarray) else {}
        if isinstance(value, Mapping) and name == "rtt_us":
            matrices = {f"{inside}.{percentile:g}": m for percentile, m in value.items()}
        for where, matrix in matrices.items():
            limits = find_row_limits(hint)
            is_count = "integer" in limits["type"]
            least = None if not is_count else NO_ROUTE if "null" in limits["type"] else 0
            _check(matrix, size, limits["maximum"], source, where, least=least)


@functools.cache
def _resolve_hints(kind: type[Struct]) -> Mapping[str, Any]:
    hints = get_type_hints(kind, include_extras=True)
    return {name: hints[name] for name in kind.__struct_fields__}


def _check(
    matrix: Array, size: int, high: float, source: str, place: str, *, least: int | None = None
) -> None:
    if matrix.shape != (size, size):
        shape = " x ".join(map(str, matrix.shape))
        expected = f"{size} x {size}, a row and a column for each host"
        raise FormatError(source, place, f"is a matrix of {shape}, expected {expected}")
    wrong = find_outside(matrix, high, least or 0)
    if wrong is not None:
        expected = "null or a number" if least is None else "a whole number"
        limits = f"from {least or 0}" + (f" to {format_bound(high)}" if high < MAX_COUNT else "")
        i, j = wrong
        reason = f"is {matrix[i, j]:g}, expected {expected} {limits}"
        raise FormatError(source, f"{place}[{i}][{j}]", reason)


class RoundSample(Struct, frozen=True):
    """Sample of pairs: a random subset of the rounds that would measure every pair once.

    Attributes:
        rounds: number of rounds that were gone through
        in_all: number of rounds that there are
        seed: seed of the choice of rounds
    """

    rounds: int
    in_all: int
    seed: int

    def to_options(self) -> dict[str, int]:
        """Return the sample as options of a measurement record."""
        return {"rounds": self.rounds, "rounds_in_all": self.in_all, "seed": self.seed}

    def __str__(self) -> str:
        return f"{self.rounds:,} of {self.in_all:,} rounds"


class FollowedSample(Struct, frozen=True):
    """Adaptive sample of pairs: each round's pairs were chosen from earlier readings.

    Attributes:
        share: largest share of all pairs to measure, 0 to 1
        seed: seed of the random choices
    """

    share: float
    seed: int

    def to_options(self) -> dict[str, float | int]:
        """Return the sample as options of a measurement record."""
        return {"share": self.share, "seed": self.seed}

    def __str__(self) -> str:
        return f"pairs chosen from the readings, at most {100.0 * self.share:.3g} % of the pairs"


Sample = RoundSample | FollowedSample
# Every option that a sample records.
SAMPLE_OPTIONS = ("rounds", "rounds_in_all", "share", "seed")


def find_sample(options: Mapping[str, Any]) -> Sample | None:
    """Return which sample of pairs a measurement's options record; None if all were measured."""
    values = [options.get(name) for name in ("rounds", "rounds_in_all", "seed")]
    rounds, in_all, seed = (value if type(value) is int else -1 for value in values)
    share = to_finite_number(options.get("share"))
    if not 0 <= seed <= MAX_INT:
        return None
    if share is not None and 0.0 < share <= 1.0:
        return FollowedSample(share, seed)
    return RoundSample(rounds, in_all, seed) if 1 <= rounds < in_all else None
