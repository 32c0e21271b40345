"""What scripts/bench training keeps and tells of its rounds."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchkit.plans import lab_network, limit_s
from benchkit.training_rounds import (
    GIVEN,
    HEADER,
    ORDERED,
    PLINK,
    Trained,
    hold_to,
    kept_rounds,
    table_rows,
)


def round_of(given_s: float, ordered_s: float, plink_s: float) -> dict[str, Trained]:
    return {
        GIVEN: Trained(given_s, given_s, 4e6),
        ORDERED: Trained(ordered_s, ordered_s, 2e6),
        PLINK: Trained(plink_s, plink_s / 2, 1e6),
    }


def test_rounds_are_gone_on_with(tmp_path: Path) -> None:
    first = kept_rounds("vgg16", tmp_path)
    first.add(round_of(8.0, 4.0, 2.0))
    again = kept_rounds("vgg16", tmp_path)
    assert again.rounds == first.rounds
    again.add(round_of(9.0, 5.0, 3.0))
    assert len(kept_rounds("vgg16", tmp_path).rounds) == 2
    assert kept_rounds("alexnet", tmp_path).rounds == []


def test_rounds_of_other_settings_are_refused(tmp_path: Path) -> None:
    folder = tmp_path / "new"
    hold_to(folder, {"scale": 0.1, "host_rate": "400mbit"})
    hold_to(folder, {"scale": 0.1, "host_rate": "400mbit"})
    with pytest.raises(SystemExit, match="of another --host-rate: give another folder"):
        hold_to(folder, {"scale": 0.1, "host_rate": "1gbit"})


def test_the_limit_is_that_of_hosts_or_of_uplinks() -> None:
    rack_of, size_bytes, efficiency = [rank // 4 for rank in range(16)], 20_000_000, 1448 / 1514
    by_hosts = limit_s(lab_network(rack_of, 400e6, 400e6), size_bytes)
    assert by_hosts == pytest.approx(2 * 15 / 16 * 160 / 400 / efficiency)
    by_uplinks = limit_s(lab_network(rack_of, 400e6, 200e6), size_bytes)
    assert by_uplinks == pytest.approx(2 * 3 / 4 * 160 / 200 / efficiency)
    assert limit_s(lab_network(rack_of, 400e6, None), size_bytes) == by_hosts


def test_a_row_has_medians_ratios_and_the_share_of_the_limit() -> None:
    measured = kept_rounds("vgg16", None)
    for plink_s in (2.5, 2.0, 1.0):
        measured.add(round_of(8.0, 4.0, plink_s))
    rows = table_rows(measured, 32, [250_000, 750_000], 1.5)
    by_name = {row[2]: dict(zip(HEADER, row, strict=True)) for row in rows}
    assert by_name[PLINK] == {
        "network": "vgg16",
        "gradient, MB (tensors, buckets)": "4.0 (32, 2)",
        "over": "plink",
        "iteration, s (least, median, most)": "1.000 / 2.000 / 2.500",
        "rounds": "3",
        "iterations a second": "0.500",
        f"{GIVEN} / this": "4.00",
        f"{ORDERED} / this": "2.00",
        "of the limit": "75%",
        "between racks, MB": "1.0",
        "cores busy": "0.50",
    }
    assert by_name[GIVEN][f"{GIVEN} / this"] == "1.00"
