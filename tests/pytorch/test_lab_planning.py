"""A planned schedule on hosts of a lab, whose network becomes slow while they train."""

from __future__ import annotations

from pathlib import Path

import pytest

from labkit.wiring import namespace
from pytorch import planning_checks as checks
from pytorch.processes import running
from support.lab import lab_cluster

RANKS = 3


@pytest.mark.lab
def test_a_throttled_link_gets_another_schedule(tmp_path: Path) -> None:
    over = tmp_path / "over"
    environment = {"PLINK_SOCKET_IFNAME": "eth0", "PLINK_SHARED_MEMORY": "0"}
    with lab_cluster(racks=1, hosts=RANKS, host_rate="1000mbit") as lab:
        places = [namespace(lab.name, host) for host in lab.names]
        with running(
            *(checks.throttled, RANKS, tmp_path, str(over)),
            environment=environment,
            namespaces=places,
        ) as ranks:
            throttled = before = None
            windows, number, groups = ranks[0].hear()
            # Three windows are enough where nothing else runs.
            while throttled is None or (groups <= before and windows < throttled + 12):
                windows, number, groups = ranks[0].hear()
                # In the middle of a window.
                if throttled is None and windows == 3 and number == 3:
                    lab.lab("set", lab.names[2], "--rate", "20mbit")
                    throttled, before = windows, groups
            over.touch()
            while len(end := ranks[0].hear()) == 3:
                pass
            ends = [end, *(rank.hear() for rank in ranks[1:])]
    # As long as the network keeps up one collective is as good as many.
    assert groups > before
    assert [wrong for wrong, _ in ends] == [0] * RANKS
    assert all(arrangements == end[1] for _, arrangements in ends)
