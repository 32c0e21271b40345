"""Rings whose first rounds are simulated take what all of their rounds take."""

from __future__ import annotations

import numpy as np
import pytest

from plink.base.errors import PlinkError
from plink.base.replacing import replace
from plink.simulate.datacentres import racks
from plink.simulate.pace import pace_of
from plink.simulate.request import SimulationRequest
from plink.simulate.simgrid import program
from plink.simulate.simulation import simulate
from plink.solvers.collectives.registry import find
from plink.solvers.collectives.steps import Round

SIZE = 20_000_000


def test_only_rounds_that_are_alike_have_a_pace() -> None:
    ring = find("gloo-ring").table(16, SIZE)
    found = pace_of(ring, 8)
    assert found is not None
    some, pace = found
    assert (pace.half_rounds, pace.rounds, pace.of_rounds) == (4, 8, 30)
    assert some.bytes_sent == pytest.approx(ring.bytes_between().sum() * 8 / 30, rel=1e-3)
    assert pace.half.bytes_sent == pytest.approx(some.bytes_sent / 2, rel=1e-3)
    # 5 s for four rounds and 9 s for eight: 1 s for each of the 22 others.
    assert pace.time_s(5.0, 9.0) == 31.0
    assert pace_of(ring, 30) is None
    assert pace_of(find("openmpi-rabenseifner").table(16, SIZE), 2) is None
    last = ring.rounds[-1]
    other = Round(last.sources, last.destinations, 2.0 * np.asarray(last.sizes_bytes))
    assert pace_of(replace(ring, rounds=[*ring.rounds[:-1], other]), 8) is None


@pytest.mark.needs("simgrid")
@pytest.mark.parametrize(("name", "oversubscription"), [("gloo-ring", 4.0), ("openmpi-ring", 1.0)])
def test_some_rounds_say_what_all_take(name: str, oversubscription: float) -> None:
    try:
        program.simulator()
    except PlinkError as error:
        pytest.skip(str(error))
    centre = racks(4, 16, rate_gbit_s=10, hop_us=2, oversubscription=oversubscription)
    request = SimulationRequest(algorithms=[name], size=SIZE, random_orders=1, search_s=0.0)
    (whole,) = simulate(centre.cluster, request, platform=centre.platform).rows
    found = simulate(centre.cluster, replace(request, rounds=24), platform=centre.platform)
    assert "first 24 of 126 rounds" in found.notes[-1]
    (some,) = found.rows
    for one, other in ((some.given, whole.given), (some.random, whole.random)):
        assert one is not None
        assert other is not None
        assert one.simulated_s == pytest.approx(other.simulated_s, rel=0.01)


@pytest.mark.needs("simgrid")
def test_flows_of_a_plan_take_what_its_chunks_do() -> None:
    try:
        program.simulator()
    except PlinkError as error:
        pytest.skip(str(error))
    centre = racks(4, 8, rate_gbit_s=10, hop_us=2, oversubscription=4)
    request = SimulationRequest(algorithms=["plan:2lha"], size=SIZE)
    by_chunk = simulate(centre.cluster, request, platform=centre.platform)
    asked = replace(request, as_flows=True)
    by_flow = simulate(centre.cluster, asked, platform=centre.platform)
    (chunks,), (flows,) = by_chunk.rows, by_flow.rows
    assert "is one flow" in by_flow.notes[-1]
    assert not any("is one flow" in note for note in by_chunk.notes)
    assert chunks.order is not None
    assert flows.order is not None
    assert flows.order.simulated_s == pytest.approx(chunks.order.simulated_s, rel=0.06)
    assert flows.order.simulated_s < chunks.order.simulated_s
