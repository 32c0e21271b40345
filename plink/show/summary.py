"""Statistics of the measurements in a cluster file, for the page, the terminal and `--json`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from plink.files.cluster import Cluster
from plink.files.groups import Uplink, UplinkMeasurement
from plink.files.matrices import Matrix
from plink.files.measurements import (
    BandwidthMeasurement,
    Route,
    RouteMeasurement,
    RttMeasurement,
    Sample,
    percentile_name,
    recorded_sample,
)
from plink.files.structs import encode
from plink.model.outliers import outliers
from plink.show.modes import Mode, find_modes

_SHOWN = 5
# A pair that failed both ways says nothing about either host.
_LEAST_GAPS = 3


@dataclass(frozen=True)
class Pair:
    """Pair of hosts with the time between them."""

    source: str
    destination: str
    rtt_us: float


@dataclass(frozen=True)
class Loss:
    """Number of lost probes from one host to another."""

    source: str
    destination: str
    lost: int
    sent: int


@dataclass(frozen=True)
class Gap:
    """Host with its number of missing pairs, counted once per pair at the worse host."""

    host: str
    pairs: int


@dataclass(frozen=True)
class Asymmetry:
    """Relative difference of a pair's directions: |ij - ji| / min(ij, ji)."""

    median: float
    worst: float
    source: str
    destination: str


@dataclass(frozen=True)
class Summary:
    """Statistics of one percentile of the round-trip times.

    Pairs are ordered: N hosts have N (N - 1). `nearest` and `farthest` hold unordered ones, with
    the larger of both directions. Lists hold the worst or most extreme few. Where a sample of the
    rounds was gone through, most pairs are missing by intent, and `gaps` is empty.
    """

    percentile: float
    pairs: int
    measured: int
    min_us: float | None
    median_us: float | None
    max_us: float | None
    modes: Sequence[Mode]
    nearest: Sequence[Pair]
    farthest: Sequence[Pair]
    asymmetry: Asymmetry | None
    sent: int
    lost: int
    lossy_pairs: int
    losses: Sequence[Loss]
    gaps: Sequence[Gap]
    sample: Sample | None


def summarise(names: Sequence[str], rtt: RttMeasurement, percentile: float) -> Summary:
    """Return the statistics of one percentile of `rtt` over the hosts `names`."""
    matrix = rtt.rtt_us[percentile]
    values = matrix[np.isfinite(matrix)]
    nearest, farthest = _extremes(names, matrix)
    lost = int(rtt.losses.sum())
    sample = recorded_sample(rtt.options)
    return Summary(
        percentile=percentile,
        pairs=len(names) * (len(names) - 1),
        measured=values.size,
        min_us=float(values.min()) if values.size else None,
        median_us=float(np.median(values)) if values.size else None,
        max_us=float(values.max()) if values.size else None,
        modes=find_modes(values),
        nearest=nearest,
        farthest=farthest,
        asymmetry=_asymmetry(names, matrix),
        sent=int(rtt.samples.sum()) + lost,
        lost=lost,
        lossy_pairs=int(np.count_nonzero(rtt.losses)),
        losses=_losses(names, rtt),
        gaps=[] if sample else _gaps(names, matrix),
        sample=sample,
    )


def cluster_to_json(cluster: Cluster, summary: Summary | None) -> dict[str, Any]:
    """Return a cluster as `plink show --json` prints it.

    Args:
        cluster: hosts and what was measured.
        summary: statistics of its round-trip times; None where it holds none.
    """
    return {
        "of": "plink.cluster",
        "hosts": cluster.names,
        "unreachable": [encode(item) for item in cluster.unreachable],
        **_rtt_to_json(cluster.rtt, summary),
        "outliers": encode(outliers(cluster)),
        **_bandwidth_to_json(cluster.bandwidth),
        **_uplinks_to_json(cluster.uplinks),
        **_routes_to_json(cluster.routes),
    }


def _rtt_to_json(rtt: RttMeasurement | None, summary: Summary | None) -> dict[str, Any]:
    if rtt is None or summary is None:
        return {}
    statistics = asdict(summary)
    statistics["modes"] = [
        {"rtt_us": round(mode.rtt_us, 3), "share": round(mode.share, 6)} for mode in summary.modes
    ]
    if summary.asymmetry is not None:
        asymmetry = statistics["asymmetry"]
        asymmetry["median"] = round(summary.asymmetry.median, 6)
        asymmetry["worst"] = round(summary.asymmetry.worst, 6)
    statistics["percentile"] = percentile_name(summary.percentile)
    statistics["sample"] = encode(summary.sample)
    return {
        "tool": rtt.tool,
        "options": dict(rtt.options),
        "started": rtt.started,
        "seconds": rtt.seconds,
        **statistics,
        "failures": encode(rtt.failures),
        "notes": list(rtt.notes),
    }


def _bandwidth_to_json(bandwidth: BandwidthMeasurement | None) -> dict[str, Any]:
    if bandwidth is None:
        return {}
    values = bandwidth.gbit_s[np.isfinite(bandwidth.gbit_s)]
    extremes = np.quantile(values, [0.0, 0.5, 1.0]).tolist() if values.size else [None] * 3
    record = {"tool": bandwidth.tool, "options": dict(bandwidth.options), "measured": values.size}
    names = ("min_gbit_s", "median_gbit_s", "max_gbit_s")
    return {"bandwidth": {**record, **dict(zip(names, extremes, strict=True))}}


def _uplinks_to_json(uplinks: UplinkMeasurement | None) -> dict[str, Any]:
    if uplinks is None:
        return {}
    found = []
    for uplink in uplinks.uplinks:
        ratio = oversubscription(uplink)
        found.append(encode(uplink) | ({} if ratio is None else {"oversubscription": ratio}))
    return {"uplinks": found}


def _routes_to_json(routes: RouteMeasurement | None) -> dict[str, Any]:
    if routes is None:
        return {}
    record = {"tool": routes.tool, "options": dict(routes.options)}
    return {"routes": {**record, **asdict(summarise_routes(routes))}}


def _extremes(names: Sequence[str], matrix: Matrix) -> tuple[list[Pair], list[Pair]]:
    values = np.fmax(matrix, matrix.T)[_upper(len(names))]
    known = np.flatnonzero(np.isfinite(values))
    if not known.size:
        return [], []

    def ranked(is_near: bool) -> npt.NDArray[np.intp]:
        # Only these have to be sorted, and so many fit into memory.
        last = min(_SHOWN, known.size) - 1
        place = last if is_near else known.size - 1 - last
        edge = np.partition(values[known], place)[place]
        some = known[values[known] <= edge] if is_near else known[values[known] >= edge]
        found: npt.NDArray[np.intp] = some[np.argsort(values[some], kind="stable")]
        return found

    def pair(index: int) -> Pair:
        source, destination = _ends(index, len(names))
        return Pair(names[source], names[destination], float(values[index]))

    nearest = [pair(index) for index in ranked(is_near=True)[:_SHOWN]]
    return nearest, [pair(index) for index in ranked(is_near=False)[::-1][:_SHOWN]]


def _upper(size: int) -> npt.NDArray[np.bool_]:
    """Return a mask of the entries above the diagonal, (N, N)."""
    found: npt.NDArray[np.bool_] = ~np.tri(size, dtype=bool)
    return found


def _ends(index: int, size: int) -> tuple[int, int]:
    """Return row and column of a pair, counted row by row above the diagonal."""
    row_ends = np.cumsum(np.arange(size - 1, -1, -1))
    row = int(np.searchsorted(row_ends, index, side="right"))
    return row, size - (int(row_ends[row]) - int(index))


def _asymmetry(names: Sequence[str], matrix: Matrix) -> Asymmetry | None:
    upper = _upper(len(names))
    there, back = matrix[upper], matrix.T[upper]
    smaller = np.minimum(there, back)
    usable = np.flatnonzero(np.isfinite(smaller) & (smaller > 0.0))
    if not usable.size:
        return None
    relative = np.abs(there - back)[usable] / smaller[usable]
    worst = int(usable[int(np.argmax(relative))])
    ends = [names[host] for host in _ends(worst, len(names))]
    slow_first = ends if there[worst] >= back[worst] else ends[::-1]
    return Asymmetry(float(np.median(relative)), float(relative.max()), *slow_first)


def _losses(names: Sequence[str], rtt: RttMeasurement) -> list[Loss]:
    if not rtt.losses.any():
        return []
    sent = rtt.samples.astype(np.int64) + rtt.losses
    share = np.where(sent > 0, rtt.losses / np.maximum(sent, 1), 0.0)
    worst = _largest(share)
    return [
        Loss(names[i], names[j], int(rtt.losses[i, j]), int(sent[i, j]))
        for i, j in (divmod(index, len(names)) for index in worst)
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


def _largest(values: npt.NDArray[Any]) -> list[int]:
    """Return the flat indices of the largest positive values, largest first."""
    flat = values.ravel()
    above = np.flatnonzero(flat > 0)
    ranked = above[np.argsort(-flat[above], kind="stable")]
    return [int(index) for index in ranked[:_SHOWN]]


def oversubscription(uplink: Uplink) -> float | None:
    """Return the ratio of the hosts' summed rates to their uplink's rate."""
    carried = [rate for rate in (uplink.send_gbit_s, uplink.receive_gbit_s) if rate]
    if uplink.hosts_gbit_s is None or not carried:
        return None
    return max(1.0, uplink.hosts_gbit_s / min(carried))


@dataclass(frozen=True)
class RouteSummary:
    """Statistics of the routes between hosts.

    Args:
        measured: number of ordered pairs whose hops are known.
        min_hops, median_hops, max_hops: numbers of hops of these pairs; None without any.
        distinct: number of different sequences of routers.
        with_silent: number of sequences with a router that does not show itself.
        with_repeated: number of sequences that pass a router more than once.
    """

    measured: int
    min_hops: int | None
    median_hops: float | None
    max_hops: int | None
    distinct: int
    with_silent: int
    with_repeated: int


def summarise_routes(routes: RouteMeasurement) -> RouteSummary:
    """Return statistics of the routes; pairs that were traced again count by the latest."""
    hops = routes.hops[np.isfinite(routes.hops)]
    used = [routes.routes[index] for index in np.unique(routes.route_of[routes.route_of >= 0])]
    return RouteSummary(
        measured=hops.size,
        min_hops=int(hops.min()) if hops.size else None,
        median_hops=float(np.median(hops)) if hops.size else None,
        max_hops=int(hops.max()) if hops.size else None,
        distinct=len(used),
        with_silent=sum(None in route for route in used),
        with_repeated=sum(_repeats(route) for route in used),
    )


def _repeats(route: Route) -> bool:
    shown = [router for router in route if router is not None]
    return len(set(shown)) < len(shown)
