"""How `plink probe --tool uplinks` ends, and so what a script around it knows."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from plink.cli.probe_action import report_stage
from plink.formats.cluster import Cluster
from plink.formats.groups import Uplink, UplinkMeasurement
from plink.formats.hosts import Group, Host
from plink.formats.measurements import Failure
from plink.measure.probing.uplinks import UplinkResult

WHOLE = [Uplink("r1", 0.1, 0.1, 0.4), Uplink("r2", 0.1, 0.1, 0.4)]


def is_whole(
    uplinks: Sequence[Uplink],
    failures: Sequence[Failure] = (),
    unreachable: Sequence[Failure] = (),
) -> bool:
    hosts = [Host(name, f"10.0.0.{number}") for number, name in enumerate("abcd", 1)]
    measurement = UplinkMeasurement(uplinks=uplinks, tool="uplinks", failures=list(failures))
    cluster = Cluster(
        hosts,
        groups=[Group("r1", ["a", "b"]), Group("r2", ["c", "d"])],
        uplinks=measurement,
        unreachable=list(unreachable),
    )
    result = UplinkResult(cluster, measurement, interrupted=False)
    return report_stage(result, "c.json", "plink probe --resume c.json")


def test_everything_was_measured() -> None:
    assert is_whole(WHOLE)


@pytest.mark.parametrize(
    ("uplinks", "failures", "unreachable"),
    [
        (WHOLE[:1], [], []),
        ([WHOLE[0], Uplink("r2", 0.1, None)], [], []),
        (WHOLE, [], [Failure("e", "refuses the connection")]),
        # The figures are there, without one of the hosts.
        (WHOLE, [Failure("a", "the connection was lost")], []),
        (WHOLE, [Failure("a", "no data arrived", destination="c")], []),
    ],
)
def test_something_is_missing(
    uplinks: Sequence[Uplink], failures: Sequence[Failure], unreachable: Sequence[Failure]
) -> None:
    assert not is_whole(uplinks, failures, unreachable)
