"""Links that seem changed are measured again, and a lack of time loses no confirmed change."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator, Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from plink.formats.cluster import Cluster
from plink.formats.hosts import Host
from plink.formats.measurements import BandwidthMeasurement
from plink.measure.drift.judge import Pair
from plink.measure.probing import check

HOSTS = 6
LINK_GBIT_S, SLOW_GBIT_S = 10.0, 1.0
LIMIT_S = 5.0


@pytest.mark.parametrize(
    ("measured", "changed"),
    [
        # How often pairs are measured before no time is left: not even once again, once, twice.
        (1, []),
        (2, ["h3"]),
        (3, ["h3"]),
    ],
)
def test_a_change_counts_if_it_was_confirmed_once(
    measured: int, changed: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    names = [f"h{number}" for number in range(HOSTS)]
    gbit_s = np.full((HOSTS, HOSTS), LINK_GBIT_S)
    cluster = Cluster(
        hosts=[Host(name, f"10.0.0.{number}") for number, name in enumerate(names, 1)],
        bandwidth=BandwidthMeasurement(tool="iperf3", gbit_s=gbit_s, retransmits=gbit_s),
    )
    hosts: Any = [SimpleNamespace(name=name) for name in names]
    again = check.RepeatedTransfers(
        cluster, hosts, silence_s=1.0, seed=1, progress=SimpleNamespace()
    )
    lefts_s = []

    def measure(
        _transfers: object, rounds: Sequence[Sequence[Pair]], _seconds: int, *, both: bool
    ) -> Any:
        lefts_s.append(again._until_s - time.monotonic())
        found = np.full((HOSTS, HOSTS), np.nan)
        for one, other in (pair for pairs in rounds for pair in pairs):
            rate = SLOW_GBIT_S if 3 in (one, other) else LINK_GBIT_S
            if len(lefts_s) <= measured:
                found[one, other] = found[other, one] = rate
        return found

    @contextlib.contextmanager
    def transfers(_options: object, limit_s: float) -> Iterator[None]:
        again._until_s = time.monotonic() + limit_s
        yield

    monkeypatch.setattr(again, "_transfers", transfers)
    monkeypatch.setattr(again, "_measure_rates", measure)
    judgement = again.links(gbit_s, LIMIT_S)
    assert sorted({change.name for change in judgement.changes}) == changed
    assert len(lefts_s) == min(measured + 1, 3)
    # Each time anew.
    assert min(lefts_s) > 0.5 * LIMIT_S
