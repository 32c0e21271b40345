"""What a group exchanges both ways at once, tried again where transfers fail or carry little."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import pytest

from plink.probes.iperf3.parse import TransferReport
from plink.probes.uplinks import tool
from plink.probes.uplinks.tool import TimedTransfer


@pytest.mark.parametrize(
    ("found", "most", "tries"),
    [
        ([2.0], 2.0, 1),
        ([0.9, 1.9], 1.9, 2),
        ([None, 2.0], 2.0, 2),
        ([1.0, 0.9, 1.1], 1.1, 3),
        ([None, 1.0, None], 1.0, 3),
        ([None, None, None], None, 3),
        ([0.0, None, 0.0], None, 3),
    ],
)
def test_the_most_of_several_tries_counts(
    monkeypatch: pytest.MonkeyPatch, found: list[float | None], most: float | None, tries: int
) -> None:
    left = iter(found)
    durations_s: list[int] = []

    def run(pairs: Sequence[tuple[int, int]], duration_s: int) -> list[TimedTransfer]:
        assert sorted(pairs) == [(0, 2), (1, 3), (2, 0), (3, 1)]
        durations_s.append(duration_s)
        return [TimedTransfer(TransferReport((), None), 0.0)] * len(pairs)

    def compute(*_: object) -> list[float] | None:
        gbit_s = next(left)
        return None if gbit_s is None else [gbit_s]

    monkeypatch.setattr(tool, "_compute_common_gbit_s", compute)
    between: Any = SimpleNamespace(left_s=lambda: 60.0, run=run)
    assert tool.measure_both_ways(between, [[0, 1], [2, 3]], 0, 1, 1.8) == most
    assert durations_s == [1, 2, 4][:tries]
