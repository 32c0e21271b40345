"""How well two groupings of the same hosts agree."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np
import numpy.typing as npt


def adjusted_mutual_information(first: Sequence[Hashable], second: Sequence[Hashable]) -> float:
    """1 for groupings that are the same but for names, about 0 for unrelated ones.

    Mutual information less what chance gives, over the mean of the entropies less the same
    (Vinh, Epps and Bailey, "Information theoretic measures for clusterings comparison", JMLR 11,
    2010).

    Args:
        first, second: each host's group.

    Raises:
        ValueError: of different lengths, or empty.
    """
    if len(first) != len(second) or not first:
        raise ValueError(f"expected two groupings, found {len(first)} and {len(second)} hosts")
    table = _contingency(first, second)
    if ((table > 0).sum(axis=0) == 1).all() and ((table > 0).sum(axis=1) == 1).all():
        # The same groups; said here, so that rounding does not.
        return 1.0
    rows, columns = table.sum(axis=1), table.sum(axis=0)
    mutual = _mutual_information(table)
    expected = _expected(rows, columns)
    mean = (_entropy(rows) + _entropy(columns)) / 2.0
    # Both may be nothing but rounding, where one of the groupings holds no information.
    return float((mutual - expected) / max(mean - expected, np.finfo(np.float64).eps))


def _contingency(first: Sequence[Hashable], second: Sequence[Hashable]) -> npt.NDArray[np.int64]:
    """How many hosts are in group i of the one and group j of the other."""
    rows: dict[Hashable, int] = {}
    columns: dict[Hashable, int] = {}
    places = [
        (rows.setdefault(one, len(rows)), columns.setdefault(other, len(columns)))
        for one, other in zip(first, second, strict=True)
    ]
    table = np.zeros((len(rows), len(columns)), dtype=np.int64)
    np.add.at(table, tuple(np.array(places).T), 1)
    return table


def _entropy(sizes: npt.NDArray[np.int64]) -> float:
    shares = sizes / sizes.sum()
    return float(-(shares * np.log(shares)).sum())


def _mutual_information(table: npt.NDArray[np.int64]) -> float:
    rows, columns = table.sum(axis=1), table.sum(axis=0)
    i, j = np.nonzero(table)
    shared = table[i, j] / table.sum()
    return float((shared * np.log(table[i, j] * (table.sum() / (rows[i] * columns[j])))).sum())


def _expected(rows: npt.NDArray[np.int64], columns: npt.NDArray[np.int64]) -> float:
    """The mutual information of two groupings of these sizes, on average over permutations."""
    # SciPy takes 0.3 s to import, and callers import this module for small things too.
    from scipy.stats import hypergeom  # noqa: PLC0415

    total = int(rows.sum())
    expected = 0.0
    # Sizes repeat, and pairs of sizes with them.
    for a, a_times in zip(*np.unique(rows, return_counts=True), strict=True):
        for b, b_times in zip(*np.unique(columns, return_counts=True), strict=True):
            shared = np.arange(max(1, a + b - total), min(a, b) + 1)
            terms = shared / total * np.log(shared * (total / (a * b)))
            chances = hypergeom.pmf(shared, total, a, b)
            expected += int(a_times) * int(b_times) * float((terms * chances).sum())
    return expected
