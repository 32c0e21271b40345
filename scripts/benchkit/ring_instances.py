"""Distance matrices to solve: generated ones, and TSPLIB files for the benchmarks."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import numpy.typing as npt

Matrix = npt.NDArray[np.float64]

# Median round trips in µs in one provider's data centre: same rack, same row, other rows, and how
# far the median lies above the 10th percentile (De Sensi et al., SIGMETRICS 2022).
_LEVEL_RTT_US = (18.0, 31.0, 58.0)
_LEVEL_SPREAD_US = (1.0, 1.0, 10.0)


def circle(size: int, seed: int) -> tuple[Matrix, list[int], float]:
    """Points on a circle in a shuffled order: distances, a cheapest ring, and its cost."""
    order = np.random.default_rng(seed).permutation(size)
    angle = np.empty(size)
    angle[order] = np.arange(size) * (2 * math.pi / size)
    points = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    return euclidean(points), order.tolist(), 2 * size * math.sin(math.pi / size)


def euclidean(points: Matrix) -> Matrix:
    """Straight-line distances between (N, 2) points."""
    difference = points[:, None, :] - points[None, :, :]
    distance: Matrix = np.sqrt((difference**2).sum(axis=2))
    return distance


def racks(
    sizes: list[int], seed: int, near: float = 20.0, far: float = 60.0
) -> tuple[Matrix, float]:
    """Shuffled hosts in racks, two distances only: the matrix, and the cheapest ring's cost.

    For at least two racks: every rack is entered and left once.
    """
    rack = np.random.default_rng(seed).permutation(np.repeat(np.arange(len(sizes)), sizes))
    matrix = np.where(rack[:, None] == rack[None, :], near, far)
    np.fill_diagonal(matrix, 0.0)
    return matrix, len(sizes) * far + (sum(sizes) - len(sizes)) * near


def data_centre(size: int, seed: int, *, rack: int = 16, racks_per_row: int = 8) -> Matrix:
    """Round trips in µs as measured, asymmetric, of shuffled hosts in racks in rows.

    A reading is the level's 10th percentile, what the two hosts add, what the pair's path adds
    (ECMP deals pairs to paths), and the noise of each direction's measurement.
    """
    rng = np.random.default_rng(seed)
    place = rng.permutation(size)
    rack_of = place // rack
    row_of = rack_of // racks_per_row
    level = np.where(
        rack_of[:, None] == rack_of[None, :],
        0,
        np.where(row_of[:, None] == row_of[None, :], 1, 2),
    )
    spread = np.take(_LEVEL_SPREAD_US, level)
    host = rng.exponential(0.7, size)
    path = np.triu(rng.gamma(2.0, 0.5, (size, size)), 1)
    direction = np.abs(rng.normal(0.0, 0.2, (size, size)))
    matrix = np.take(_LEVEL_RTT_US, level) + host[:, None] + host[None, :]
    matrix = matrix + spread * (path + path.T + direction)
    np.fill_diagonal(matrix, np.nan)
    return matrix


def plane(kind: str, size: int, seed: int) -> Matrix:
    """Rounded distances between points, as in TSPLIB: `even`, `clusters`, holes of a `drill` on a
    grid, or a `coarse` grid with many equal distances."""
    rng = np.random.default_rng(seed)
    if kind == "even":
        points = rng.random((size, 2)) * 1e4
    elif kind == "clusters":
        centres = rng.random((max(3, size // 40), 2)) * 1e4
        points = centres[rng.integers(len(centres), size=size)] + rng.normal(size=(size, 2)) * 300
    elif kind == "drill":
        side = int(1.4 * math.sqrt(size)) + 1
        places = rng.permutation(side * side)[:size]
        points = np.stack(np.divmod(places, side), axis=1) * 100.0
    elif kind == "coarse":
        points = np.floor(rng.random((size, 2)) * np.array([3.0, 4.0]) * math.sqrt(size))
    else:
        raise ValueError(f"there is no kind {kind}")
    return np.floor(euclidean(points) + 0.5)


def tsplib(path: Path) -> Matrix:
    """The distances of a TSPLIB file: EUC_2D, ATT, or EXPLICIT."""
    header: dict[str, str] = {}
    sections: dict[str, list[float]] = {}
    current: list[float] | None = None
    for line in path.read_text().splitlines():
        text = line.strip()
        if not text or text == "EOF":
            continue
        if text[0].isalpha():
            name, _, value = text.partition(":")
            header[name.strip()] = value.strip()
            current = sections.setdefault(name.strip(), [])
        elif current is not None:
            current.extend(float(word) for word in text.split())
    size = int(header["DIMENSION"])
    kind = header["EDGE_WEIGHT_TYPE"]
    if kind == "EXPLICIT":
        return _explicit(sections["EDGE_WEIGHT_SECTION"], size, header["EDGE_WEIGHT_FORMAT"])
    points = np.array(sections["NODE_COORD_SECTION"]).reshape(size, 3)[:, 1:]
    distance = euclidean(points)
    if kind == "EUC_2D":
        return np.floor(distance + 0.5)
    if kind == "ATT":
        return np.ceil(np.sqrt(distance**2 / 10.0))
    raise ValueError(f"{path}: {kind} is not read here")


def _explicit(values: list[float], size: int, form: str) -> Matrix:
    if form == "FULL_MATRIX":
        return np.array(values).reshape(size, size)
    matrix = np.zeros((size, size))
    if form == "LOWER_DIAG_ROW":
        matrix[np.tril_indices(size)] = values
    elif form == "UPPER_DIAG_ROW":
        matrix[np.triu_indices(size)] = values
    elif form == "UPPER_ROW":
        matrix[np.triu_indices(size, 1)] = values
    else:
        raise ValueError(f"{form} is not read here")
    return matrix + np.triu(matrix, 1).T + np.tril(matrix, -1).T
