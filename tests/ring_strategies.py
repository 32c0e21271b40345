"""Distance matrices for property tests."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st


@st.composite
def distance_matrices(draw, least: int, most: int):
    """Symmetric matrices with zero diagonal: of any values, or of a few, hence full of ties."""
    size = draw(st.integers(least, most))
    values = draw(
        st.sampled_from(
            [
                st.floats(0.0, 1000.0, width=32),
                st.sampled_from([0.0, 1.0, 3.0]),
                st.integers(18, 60).map(float),
            ]
        )
    )
    count = size * (size - 1) // 2
    upper = draw(st.lists(values, min_size=count, max_size=count))
    matrix = np.zeros((size, size))
    matrix[np.triu_indices(size, 1)] = upper
    return matrix + matrix.T
