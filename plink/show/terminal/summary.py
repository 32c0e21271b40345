"""Statistics of a cluster file, for the page, the terminal and `--json`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from plink.files.cluster import Cluster
from plink.files.matrices import Matrix
from plink.files.measurements import (
    RttMeasurement,
    Sample,
    percentile_name,
    recorded_sample,
)
from plink.files.structs import encode
from plink.show.terminal.modes import Mode, find_modes

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


def to_json(cluster: Cluster, summary: Summary | None) -> dict[str, Any]:
    """Return the cluster as `plink show --json` prints it."""
    data: dict[str, Any] = {
        "of": "plink.cluster",
        "hosts": cluster.names,
        "unreachable": [encode(item) for item in cluster.unreachable],
    }
    rtt = cluster.rtt
    if rtt is None or summary is None:
        return data
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
    return data | {
        "tool": rtt.tool,
        "options": dict(rtt.options),
        "started": rtt.started,
        "seconds": rtt.seconds,
        **statistics,
        "failures": encode(rtt.failures),
        "notes": list(rtt.notes),
    }


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
