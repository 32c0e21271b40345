"""Real latency files, and what is known of their groups."""

from __future__ import annotations

import csv
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from plink.files.cluster import Cluster, Host
from plink.files.document import read_bytes
from plink.files.rtt import RttMeasurement
from plink.measure.importing.csv_files import import_matrix

# From a processor's number to what it shares, the widest first (Linux's numbering: the threads of
# a core are half the processors apart).
KNOWN: Mapping[str, Mapping[str, Callable[[int], int]]] = {
    "core2core-2x-epyc-7302": {
        "sockets": lambda cpu: cpu % 32 // 16,
        "core complexes": lambda cpu: cpu % 32 // 2,
        "cores": lambda cpu: cpu % 32,
    },
    "core2core-2x-epyc-7763": {
        "sockets": lambda cpu: cpu % 128 // 64,
        "core complexes": lambda cpu: cpu % 128 // 8,
        "cores": lambda cpu: cpu % 128,
    },
    "core2core-2x-epyc-9654": {
        "sockets": lambda cpu: cpu // 96,
        "core complexes": lambda cpu: cpu // 8,
    },
}
_PAIRS = "nccl-pairs"


def read(path: Path) -> Cluster:
    """The cluster in a matrix of round trips, or in the long form of NCCL's pairs.

    Of the latter: the median time of the largest send/receive with the most GPUs a node.
    """
    if path.stem.startswith(_PAIRS):
        return _of_pairs(path)
    return import_matrix(read_bytes(str(path)), str(path), unit=None, percentile=10.0)


def truths(stem: str, names: Sequence[str]) -> Mapping[str, list[int]]:
    """What is known of the hosts of a file, by what it is called."""
    numbers = [int("".join(filter(str.isdigit, name)) or 0) for name in names]
    return {title: [of(number) for number in numbers] for title, of in KNOWN.get(stem, {}).items()}


def _of_pairs(path: Path) -> Cluster:
    with path.open() as stream:
        rows = [row for row in csv.DictReader(stream) if row["test"].startswith("sendrecv")]
    gpus = max(int(row["gpus_per_node"]) for row in rows)
    rows = [row for row in rows if int(row["gpus_per_node"]) == gpus]
    largest = max(int(row["bytes"]) for row in rows)
    rows = [row for row in rows if int(row["bytes"]) == largest]
    names = sorted({row[end] for row in rows for end in ("node_a", "node_b")})
    readings = np.full((len(names), len(names)), np.nan)
    for row in rows:
        ends = names.index(row["node_a"]), names.index(row["node_b"])
        readings[ends] = readings[ends[::-1]] = float(row["time_us_oop"])
    return Cluster([Host(name, name) for name in names], _rtt(readings))


def _rtt(readings_us: npt.NDArray[np.float64]) -> RttMeasurement:
    counts = np.isfinite(readings_us).astype(np.int64)
    return RttMeasurement(
        tool="import",
        rtt_us={10.0: readings_us},
        reading=10.0,
        samples=counts,
        losses=np.zeros_like(counts),
    )
