"""Statistics of the measurements in a cluster file, for the page, the terminal and `--json`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, ClassVar

import numpy as np
from msgspec import Meta
from msgspec.structs import asdict

from plink.formats.cluster import Cluster, Unreachable
from plink.formats.groups import Uplink
from plink.formats.limits import Amount, Positive, Share, Text, Whole
from plink.formats.matrices import Matrix
from plink.formats.measurements import (
    Failure,
    RouteMeasurement,
    RttMeasurement,
    find_sample,
    percentile_name,
)
from plink.formats.structs import Output, encode
from plink.model.outliers import Outlier, outliers
from plink.show.modes import Mode, find_modes

_SHOWN = 5
# A pair that failed both ways says nothing about either host.
_LEAST_GAPS = 3


class Pair(Output, frozen=True):
    """Unordered pair of hosts with the round-trip time of its slower direction.

    Attributes:
        source: a host
        destination: another host
        rtt_us: round-trip time of the longer direction, in µs
    """

    source: Text
    destination: Text
    rtt_us: Amount


class Loss(Output, frozen=True):
    """Directed pair of hosts between which probes were lost, with their number.

    Attributes:
        source: a host
        destination: another host
        lost: probes that did not return
        sent: all probes
    """

    source: Text
    destination: Text
    lost: Whole
    sent: Whole


class Gap(Output, frozen=True):
    """Host with unmeasured pairs, and how many directed pairs it lacks.

    Attributes:
        host: name of the host
        pairs: directed pairs that it misses, each counted once at the worse of its hosts
    """

    host: Text
    pairs: Whole


class Asymmetry(Output, frozen=True):
    """Relative difference of a pair's two directions: |ij - ji| / min(ij, ji).

    Attributes:
        median: median over all pairs
        worst: difference of the pair below
        source: host of that pair from which the longer direction starts
        destination: its other host
    """

    median: Amount
    worst: Amount
    source: Text
    destination: Text


class SampleSummary(Output, frozen=True):
    """Sample of pairs that a probe was to measure in place of all: rounds or share, and seed.

    Attributes:
        seed: seed of the random choices
        rounds: number of rounds that were gone through
        in_all: number of rounds that there are
        share: largest share of the pairs, 0 to 1, if they were chosen by earlier readings
    """

    IN_MEMORY: ClassVar = frozenset({"text"})
    OPTIONAL: ClassVar = ("rounds", "in_all", "share")

    text: str
    seed: Whole
    rounds: Positive | None = None
    in_all: Positive | None = None
    share: Share | None = None

    def __str__(self) -> str:
        return self.text


class Summary(Output, frozen=True, kw_only=True):
    """Statistics of a cluster's round-trip times at one percentile: modes, extremes, gaps.

    Pairs are ordered: N hosts have N (N - 1). `nearest` and `farthest` hold unordered ones, with
    the larger of both directions. Lists hold the worst or most extreme few. Where a sample of the
    rounds was gone through, most pairs are missing by intent, and `gaps` is empty.

    Attributes:
        tool: tool that measured the round-trip times
        options: options that it ran with
        started: when, ISO 8601 in UTC
        seconds: time that the probing took, in s
        pairs: ordered pairs
        measured: ordered pairs that were measured
        min_us, median_us, max_us: least, median and greatest round-trip time, in µs
        modes: values around which readings gather
        nearest, farthest: unordered pairs
        asymmetry: how much directions differ
        sent: probes
        lost: probes that did not return
        lossy_pairs: ordered pairs that lost any
        losses: the worst of these
        gaps: hosts that explain missing pairs
        sample: which pairs were to be measured; null for all
        failures: what could not be measured
        notes: what to know before trusting the readings
    """

    IN_MEMORY: ClassVar = frozenset({"reading"})
    COMPUTED: ClassVar = ("percentile",)

    reading: float
    tool: Text
    options: Mapping[str, Any]
    started: Text | None
    seconds: Amount
    pairs: Whole
    measured: Whole
    min_us: Amount | None
    median_us: Amount | None
    max_us: Amount | None
    modes: Sequence[Mode]
    nearest: Sequence[Pair]
    farthest: Sequence[Pair]
    asymmetry: Asymmetry | None
    sent: Whole
    lost: Whole
    lossy_pairs: Whole
    losses: Sequence[Loss]
    gaps: Sequence[Gap]
    sample: SampleSummary | None
    failures: Sequence[Failure]
    notes: Sequence[str]

    @property
    def percentile(self) -> Annotated[str, Meta(min_length=1, pattern="^p[0-9.]+$")]:
        """Percentile that is shown, such as `p10`."""
        return percentile_name(self.reading)


def summarise(names: Sequence[str], rtt: RttMeasurement, percentile: float) -> Summary:
    """Compute statistics of round-trip times at one percentile."""
    matrix = rtt.rtt_us[percentile]
    values = matrix[np.isfinite(matrix)]
    one_of_both = np.where(np.tri(len(names), dtype=bool), np.nan, np.fmax(matrix, matrix.T))
    nearest, farthest = (
        [Pair(names[i], names[j], float(one_of_both[i, j])) for i, j in pairs]
        for pairs in (rank_pairs(one_of_both), rank_pairs(one_of_both, largest=True))
    )
    least_us, median_us, most_us = _spread(values)
    lost = int(rtt.losses.sum())
    sample = find_sample(rtt.options)
    return Summary(
        reading=percentile,
        tool=rtt.tool,
        options=rtt.options,
        started=rtt.started,
        seconds=rtt.seconds,
        pairs=len(names) * (len(names) - 1),
        measured=values.size,
        min_us=least_us,
        median_us=median_us,
        max_us=most_us,
        modes=[Mode(round(mode.rtt_us, 3), round(mode.share, 6)) for mode in find_modes(values)],
        nearest=nearest,
        farthest=farthest,
        asymmetry=_asymmetry(names, matrix),
        sent=int(rtt.samples.sum()) + lost,
        lost=lost,
        lossy_pairs=int(np.count_nonzero(rtt.losses)),
        losses=_losses(names, rtt),
        gaps=[] if sample else _gaps(names, matrix),
        sample=None if sample is None else SampleSummary(str(sample), **asdict(sample)),
        failures=rtt.failures,
        notes=rtt.notes,
    )


class BandwidthSummary(Output, frozen=True):
    """Statistics of the bandwidths in a cluster file, in Gbit/s.

    Attributes:
        tool: tool that measured them
        options: options that it ran with
        measured: ordered pairs that were measured
        min_gbit_s, median_gbit_s, max_gbit_s: least, median and greatest, in Gbit/s
    """

    tool: Text
    options: Mapping[str, Any]
    measured: Whole
    min_gbit_s: Amount | None = None
    median_gbit_s: Amount | None = None
    max_gbit_s: Amount | None = None


class ShownUplink(Uplink, frozen=True, forbid_unknown_fields=True):
    """Measured rates of a group's uplink, with its oversubscription (hosts' sum over uplink).

    Attributes:
        oversubscription: what its hosts can do alone, over what the uplink carries
    """

    oversubscription: Annotated[float, Meta(ge=1)] | None = None


class RouteSummary(Output, frozen=True):
    """Statistics of the routes between hosts: hops, and numbers of distinct and silent ones.

    Attributes:
        tool: tool that traced them
        options: options that it ran with
        measured: directed pairs whose hops are known
        min_hops, median_hops, max_hops: least, median and greatest number of hops
        distinct: different sequences of routers
        with_silent: number of those with a router that does not show itself
        with_repeated: number of those that pass a router more than once
    """

    tool: Text
    options: Mapping[str, Any]
    measured: Whole
    min_hops: Whole | None
    median_hops: Amount | None
    max_hops: Whole | None
    distinct: Whole
    with_silent: Whole
    with_repeated: Whole


class ShownCluster(Output, frozen=True, tag_field="of", tag="plink.cluster"):
    """Statistics of the measurements in a cluster file.

    Attributes:
        hosts: names of the hosts
        unreachable: hosts that were not reached
        outliers: hosts that stand out
        bandwidth: bandwidths
        uplinks: uplink of each group that was measured
        routes: the paths between hosts
    """

    OPTIONAL: ClassVar = ("bandwidth", "uplinks", "routes")

    hosts: Sequence[str]
    unreachable: Sequence[Unreachable]
    outliers: Sequence[Outlier]
    bandwidth: BandwidthSummary | None
    uplinks: Sequence[ShownUplink] | None
    routes: RouteSummary | None


def cluster_to_json(cluster: Cluster, summary: Summary | None) -> dict[str, Any]:
    """Return a cluster and the statistics of its round trips as `plink show --json` prints it."""
    bandwidth = uplinks = None
    if cluster.bandwidth is not None:
        values = cluster.bandwidth.gbit_s[np.isfinite(cluster.bandwidth.gbit_s)]
        tool, options = cluster.bandwidth.tool, cluster.bandwidth.options
        bandwidth = BandwidthSummary(tool, options, values.size, *_spread(values))
    if cluster.uplinks is not None:
        uplinks = [
            ShownUplink(**asdict(uplink), oversubscription=oversubscription(uplink))
            for uplink in cluster.uplinks.uplinks
        ]
    routes = None if cluster.routes is None else summarise_routes(cluster.routes)
    shown = ShownCluster(
        cluster.names, cluster.unreachable, outliers(cluster), bandwidth, uplinks, routes
    )
    data: dict[str, Any] = encode(shown)
    return data if summary is None else data | encode(summary)


def _spread(values: Matrix) -> tuple[float, float, float] | tuple[None, None, None]:
    """Return the least, median and greatest of known values; None where there are none."""
    if not values.size:
        return None, None, None
    return float(values.min()), float(np.median(values)), float(values.max())


def rank_pairs(values: Matrix, *, largest: bool = False) -> list[tuple[int, int]]:
    """Return (row, column) of a matrix's five least known values, or of its five largest ones."""
    flat = -values.ravel() if largest else values.ravel()
    known = np.flatnonzero(np.isfinite(flat))
    if not known.size:
        return []
    # Only these have to be sorted, and so many fit into memory.
    edge = np.partition(flat[known], min(_SHOWN, known.size) - 1)[min(_SHOWN, known.size) - 1]
    some = known[flat[known] <= edge]
    ranked = some[np.argsort(flat[some], kind="stable")][:_SHOWN].tolist()
    return [divmod(index, len(values)) for index in ranked]


def _asymmetry(names: Sequence[str], matrix: Matrix) -> Asymmetry | None:
    smaller, larger = np.minimum(matrix, matrix.T), np.maximum(matrix, matrix.T)
    is_usable = np.isfinite(smaller) & (smaller > 0.0)
    relative = np.full(matrix.shape, np.nan)
    np.divide(larger - smaller, smaller, out=relative, where=is_usable)
    worst = rank_pairs(relative, largest=True)
    if not worst:
        return None
    i, j = worst[0]
    ends = (i, j) if matrix[i, j] >= matrix[j, i] else (j, i)
    median = float(np.median(relative[is_usable]))
    largest = float(relative[i, j])
    return Asymmetry(round(median, 6), round(largest, 6), *(names[end] for end in ends))


def _losses(names: Sequence[str], rtt: RttMeasurement) -> list[Loss]:
    if not rtt.losses.any():
        return []
    sent = rtt.samples.astype(np.int64) + rtt.losses
    share = np.where(rtt.losses > 0, rtt.losses / np.maximum(sent, 1), np.nan)
    return [
        Loss(names[i], names[j], int(rtt.losses[i, j]), int(sent[i, j]))
        for i, j in rank_pairs(share, largest=True)
    ]


def _gaps(names: Sequence[str], matrix: Matrix) -> list[Gap]:
    missing = np.isnan(matrix)
    np.fill_diagonal(missing, False)
    gaps: list[Gap] = []
    while len(gaps) < _SHOWN:
        per_host = missing.sum(axis=0) + missing.sum(axis=1)
        worst = int(np.argmax(per_host))
        if per_host[worst] < _LEAST_GAPS:
            break
        gaps.append(Gap(names[worst], int(per_host[worst])))
        missing[worst, :] = missing[:, worst] = False
    return gaps


def oversubscription(uplink: Uplink) -> float | None:
    """Return a group's summed host rates over its uplink's slower rate; None if unknown."""
    carried = [rate for rate in (uplink.send_gbit_s, uplink.receive_gbit_s) if rate]
    if uplink.hosts_gbit_s is None or not carried:
        return None
    return max(1.0, uplink.hosts_gbit_s / min(carried))


def summarise_routes(routes: RouteMeasurement) -> RouteSummary:
    """Compute statistics of the measured routes between hosts: hops, distinct and silent ones."""
    hops = routes.hops[np.isfinite(routes.hops)]
    used = [routes.routes[index] for index in np.unique(routes.route_of[routes.route_of >= 0])]
    shown = [[router for router in route if router is not None] for route in used]
    least, median, most = _spread(hops)
    return RouteSummary(
        tool=routes.tool,
        options=routes.options,
        measured=hops.size,
        min_hops=None if least is None else int(least),
        median_hops=median,
        max_hops=None if most is None else int(most),
        distinct=len(used),
        with_silent=sum(None in route for route in used),
        with_repeated=sum(len(set(routers)) < len(routers) for routers in shown),
    )
