"""The figures of the benchmark scripts, on results whose figures are known."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from benchkit.readings import Matrix, between, triplets_in_order
from benchmarks.orders import HEADER, order_row, ring_limit_s

RACKS = ["r1", "r2", "r1", "r2"]


def readings(racks: list[str]) -> Matrix:
    """20 within a rack, 50 between racks, and nothing on the diagonal."""
    matrix = np.array([[20.0 if a == b else 50.0 for b in racks] for a in racks])
    np.fill_diagonal(matrix, np.nan)
    return matrix


def result() -> dict[str, Any]:
    """What `plink bench --json` prints, as far as the table needs it."""
    samples_s = {
        "given": [2.0, 2.2, 2.4],
        "plink": [0.9, 0.8, 1.1],
        "random-1": [2.7],
        "random-2": [1.8],
        "random-3": [3.6],
        "racks": [0.8, 0.8, 0.9],
    }
    rows = [
        {
            "order": order,
            "samples_s": samples,
            "median_s": sorted(samples)[len(samples) // 2],
            "hosts": [f"n{i:02d}" for i in range(16)],
        }
        for order, samples in samples_s.items()
    ]
    return {"size_bytes": 20_000_000, "spearman": {"latency": {"value": 0.75}}, "rows": rows}


def test_true_racks_have_all_triplets_in_order() -> None:
    assert triplets_in_order(readings(RACKS), RACKS) == 1.0


def test_a_spoiled_reading_costs_its_triplets() -> None:
    # Each host is the observer of 1 x 2 triplets: 8 in all, and these two are wrong or a tie.
    spoiled = readings(RACKS)
    spoiled[0, 2] = 50.0
    assert triplets_in_order(spoiled, RACKS) == 6 / 8


def test_the_wrong_racks_have_few_triplets_in_order() -> None:
    assert triplets_in_order(readings(RACKS), ["r1", "r1", "r2", "r2"]) == 0.0


def test_a_missing_reading_is_not_in_order() -> None:
    spoiled = readings(RACKS)
    spoiled[1, 0] = np.nan
    assert triplets_in_order(spoiled, RACKS) == 7 / 8


@pytest.mark.parametrize("racks", [["r1", "r1"], ["r1", "r2"]])
def test_without_triplets_there_is_no_share(racks: list[str]) -> None:
    with pytest.raises(ValueError, match="no host"):
        triplets_in_order(readings(racks), racks)


def test_readings_within_and_between_racks_are_told_apart() -> None:
    assert between(readings(RACKS), RACKS, same=True).tolist() == [20.0] * 4
    assert between(readings(RACKS), RACKS, same=False).tolist() == [50.0] * 8


def test_the_limit_of_a_ring() -> None:
    # 37.5 MB a host, at 382.56 Mbit/s of data.
    assert ring_limit_s(16, 20_000_000, 400) == pytest.approx(0.7842, abs=1e-4)
    assert ring_limit_s(2, 1_000_000, 1514 / 1448) == pytest.approx(8.0)


def test_a_row_of_orders() -> None:
    row = dict(zip(HEADER, order_row("7", result(), 400), strict=True))
    assert row == {
        "seed": "7",
        "given, s": "2.200",
        "random, s (least, median, most of the orders' medians)": "1.800 / 2.700 / 3.600",
        "plink, s (least, median, most)": "0.800 / 0.900 / 1.100",
        "samples an order": "3",
        "racks in sequence, s": "0.800",
        "physical limit, s": "0.784",
        "random / plink": "3.00",
        "plink / racks": "1.125",
        "Spearman": "0.75",
    }


def test_a_result_without_the_true_order_makes_no_row() -> None:
    spoiled = result()
    spoiled["rows"] = [row for row in spoiled["rows"] if row["order"] != "racks"]
    with pytest.raises(KeyError, match="racks"):
        order_row("7", spoiled, 400)
