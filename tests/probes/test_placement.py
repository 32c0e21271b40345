"""On which processors hosts of one machine meet."""

from __future__ import annotations

import pytest

from plink.probes.echo.grants import Placement
from plink.probes.facts import HostFacts

# Two machines of four cores, and hosts that do not say where they are.
FACTS = [HostFacts("x86_64", machine, 4, ()) for machine in ("a", "a", "b", "", "")]


@pytest.mark.parametrize(
    ("cores", "slot", "processors"),
    [(1, 0, (3, 3)), (1, 1, (2, 2)), (1, 4, (3, 3)), (2, 0, (2, 3)), (2, 1, (0, 1))],
)
def test_hosts_of_a_machine_have_the_last_processors_first(
    cores: int, slot: int, processors: tuple[int, int]
) -> None:
    placement = Placement(FACTS, cores, is_free=False)
    assert placement.processors(slot, 0, 1) == processors
    assert placement.share_processor(0, 1) == (processors[0] == processors[1])


@pytest.mark.parametrize(("one", "other"), [(0, 2), (1, 3), (3, 4)])
def test_hosts_that_share_no_machine_meet_on_any(one: int, other: int) -> None:
    placement = Placement(FACTS, 1, is_free=False)
    assert placement.processors(0, one, other) == (None, None)
    assert not placement.share_processor(one, other)


def test_where_hosts_meet_freely_their_further_meetings_are_no_different() -> None:
    placement = Placement(FACTS, 1, is_free=True)
    assert placement.processors(0, 0, 1) == (None, None)
    assert not placement.share_processor(0, 1)
