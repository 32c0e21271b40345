"""What plink's searches and the plain annealer are both given: algorithms, sizes and distances."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from benchkit import datacenters, ring_instances
from plink.formats.document import read_bytes
from plink.measure.importing.source import import_matrix
from plink.model.distance import distances
from plink.solvers.collectives.form import RoundsForm, TreesForm
from plink.solvers.collectives.registry import find

Matrix = npt.NDArray[np.float64]

_NOISE_US = (10.0, 100.0)


@dataclass(frozen=True)
class Case:
    """An order to find.

    Args:
        algorithm: by name.
        matrix: what the distances are.
        ranks: how many.
        form: what the cost sums.
        distance: (N, N), symmetric, zero diagonal.
        seed: decided the distances.
    """

    algorithm: str
    matrix: str
    ranks: int
    form: RoundsForm | TreesForm
    distance: Matrix
    seed: int


def cases(
    algorithms: Sequence[str], sizes: Sequence[int], seed: int, latencies: Path | None
) -> Iterator[Case]:
    """Every algorithm, with every number of ranks that it takes and all kinds of distances.

    Args:
        algorithms: by name; none that is a ring.
        sizes: numbers of ranks.
        seed: of generated distances, and of the hosts drawn from a measured matrix.
        latencies: a folder of measured matrices as CSV files, or None.
    """
    measured = _read_matrices(latencies) if latencies is not None else {}
    for ranks in sizes:
        matrices = dict(_generate_cases(ranks, seed))
        rng = np.random.default_rng([seed, ranks])
        for name, whole in measured.items():
            if len(whole) >= ranks:
                hosts = rng.choice(len(whole), ranks, replace=False)
                matrices[name] = whole[np.ix_(hosts, hosts)]
        for algorithm in algorithms:
            found = find(algorithm)
            if found.refusal(ranks) is not None:
                continue
            form = found.form(ranks)
            if not isinstance(form, RoundsForm | TreesForm):
                raise SystemExit(f"{algorithm} is a ring; see scripts/bench ring")
            for name, distance in matrices.items():
                yield Case(algorithm, name, ranks, form, distance, seed)


def _generate_cases(ranks: int, seed: int) -> Iterator[tuple[str, Matrix]]:
    for family, make in datacenters.FAMILIES.items():
        yield family, make(ranks, seed).distance
    readings = ring_instances.data_centre(ranks, seed)
    yield "rows", _symmetric(readings)
    rng = np.random.default_rng(seed)
    yield "noise", _symmetric(rng.uniform(*_NOISE_US, (ranks, ranks)))


def _symmetric(readings: Matrix) -> Matrix:
    matrix: Matrix = np.fmax(readings, readings.T)
    np.fill_diagonal(matrix, 0.0)
    return matrix


def is_whole(path: Path) -> bool:
    """Whether a file has the pairs of all of its hosts."""
    return not path.name.startswith("nccl-pairs")


def _read_matrices(folder: Path) -> dict[str, Matrix]:
    """By name, what is a whole matrix."""
    found: dict[str, Matrix] = {}
    for path in filter(is_whole, sorted(folder.glob("*.csv"))):
        cluster = import_matrix(read_bytes(str(path)), str(path), unit=None, percentile=50.0)
        found[path.stem] = np.ascontiguousarray(distances(cluster).matrix_us)
    return found
