"""Meshes and the distances of hosts that they are placed on."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from hypothesis import strategies as st

from plink.solvers.collectives.mesh import Dimension, find_pattern

Matrix = npt.NDArray[np.float64]

PATTERNS = ("ring", "chain", "all-to-all", "nccl-ring", "openmpi-recursive-doubling")


@st.composite
def dimensions(draw, most_ranks: int, patterns=PATTERNS):
    """Dimensions of a mesh of two ranks or more, of which one at least carries something."""
    sizes: list[int] = []
    for size in draw(st.lists(st.integers(1, 4), min_size=1, max_size=4)):
        if np.prod([*sizes, size]) <= most_ranks:
            sizes.append(size)
    if np.prod(sizes) == 1:
        sizes.append(2)
    weights = [draw(st.integers(0, 20)) for _ in sizes]
    weights[int(np.argmax(sizes))] += 1
    return [
        Dimension(size, find_pattern(draw(st.sampled_from(patterns))), weight)
        for size, weight in zip(sizes, weights, strict=True)
    ]


def racks(sizes: list[int], seed: int) -> Matrix:
    """20 to 25 µs within racks, 80 to 100 between them."""
    rng = np.random.default_rng(seed)
    rack = np.repeat(np.arange(len(sizes)), sizes)
    near = rack[:, None] == rack[None, :]
    shape = (len(rack), len(rack))
    above = np.triu(np.where(near, rng.uniform(20, 25, shape), rng.uniform(80, 100, shape)), 1)
    place = rng.permutation(len(rack))
    return np.ascontiguousarray((above + above.T)[np.ix_(place, place)])
