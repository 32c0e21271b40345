"""Groups of real machines and networks that others measured, and what is known of them."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np

from benchkit.readings import cluster_of
from plink.base.replacing import replace
from plink.formats.cluster import Cluster
from plink.formats.document import read_bytes
from plink.formats.hosts import Host
from plink.measure.importing.source import import_matrix
from plink.model.denoising import denoise, find_measured_hosts
from plink.solvers.groups.agreement import adjusted_mutual_information
from plink.solvers.groups.grouping import separate_alone
from plink.solvers.groups.levels import choose_level, discover

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
HEADER = (
    "file",
    "hosts",
    "levels",
    "chosen",
    "probability",
    "AMI with what is known",
    "missed: points / raw",
    "better",
)


def rows(files: Sequence[Path]) -> Iterator[list[object]]:
    """A row under `HEADER` for each file."""
    for path in files:
        cluster = _read(path)
        hosts = find_measured_hosts(cluster)
        denoised = denoise(cluster, hosts, needs_points=True)
        discovery = discover(denoised.matrix, denoised.is_measured)
        levels = discovery.levels
        shown = ", ".join(f"{level.groups} ({level.alone} alone)" for level in levels)
        names = [cluster.names[host] for host in hosts]
        known = []
        for title, true in _truths(path.stem, names).items():
            best = max(
                (
                    adjusted_mutual_information(separate_alone(level.labels).tolist(), true)
                    for level in levels
                ),
                default=0.0,
            )
            known.append(f"{title} ({len(set(true))}): {best:.3f}")
        embedding = denoised.embedding
        missed = (
            "too few hosts"
            if embedding is None
            else f"{embedding.held_out_error:.1%} / {embedding.neighbour_error:.1%}"
        )
        used = "embedding" if embedding is not None and embedding.is_better_than_raw else "raw"
        chosen = choose_level(levels).groups if levels else "none"
        row = [path.stem, len(hosts), shown or "none", chosen, f"{discovery.probability:.2f}"]
        yield [*row, "; ".join(known) or "-", missed, used]


def _read(path: Path) -> Cluster:
    """The cluster in a matrix of round trips, or in the long form of NCCL's pairs.

    From the latter: the median time of the largest send/receive with the most GPUs a node.
    """
    if path.stem.startswith(_PAIRS):
        return _of_pairs(path)
    return import_matrix(read_bytes(str(path)), str(path), unit=None, percentile=10.0)


def _truths(stem: str, names: Sequence[str]) -> Mapping[str, list[int]]:
    """Return the known groupings of a file's hosts, by name."""
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
    return replace(cluster_of(readings, "import"), hosts=[Host(name, name) for name in names])
