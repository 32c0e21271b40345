"""The tuner on SimGrid: its windows agree with plink's model, and it does there what it should."""

from __future__ import annotations

import numpy as np
import pytest

from plink.base.errors import PlinkError
from plink.base.replacing import replace
from plink.plans.names import ALL_REDUCE
from plink.simulate.datacentres import racks
from plink.simulate.jobs import CHANGE, Job, Turn, by_model, first_forest, run
from plink.simulate.network import State
from plink.simulate.simgrid import program
from plink.simulate.simgrid.platforms import Zones
from plink.simulate.simgrid.run import Change, Graph, run_graph
from plink.simulate.tuning import OnSimGrid, platform_in, state_of

pytestmark = pytest.mark.needs("simgrid")

SIZE = 20e6


@pytest.fixture(autouse=True)
def simgrid() -> None:
    """Skip where there is no SimGrid."""
    try:
        program.simulator()
    except PlinkError as error:
        pytest.skip(str(error))


def centre(racks_: int = 4, hosts: int = 4, oversubscription: float = 2.0) -> Zones:
    """Racks at 5 Gbit/s."""
    found = racks(
        racks_, hosts, rate_gbit_s=5, hop_us=2, oversubscription=oversubscription
    ).platform
    assert isinstance(found, Zones)
    return found


PLATFORM = centre()
USUAL = state_of(PLATFORM)


@pytest.mark.parametrize("state", [USUAL.with_host(5, 0.4), USUAL.with_uplink(2, 0.2)])
def test_flows_take_what_plinks_model_says(state: State) -> None:
    forest = first_forest(USUAL)
    found = OnSimGrid(PLATFORM)(ALL_REDUCE, SIZE, forest, state)
    expected = by_model(ALL_REDUCE, SIZE, forest, state)
    assert np.array_equal(found.sent_bytes, expected.sent_bytes)
    assert found.time_s == pytest.approx(expected.time_s, rel=0.01)
    assert np.allclose(found.busy_s, expected.busy_s, rtol=0.02)


def test_chunks_wait_for_others_and_carry_as_many_bytes() -> None:
    forest = first_forest(USUAL)
    flows = OnSimGrid(PLATFORM)(ALL_REDUCE, SIZE, forest, USUAL)
    chunks = OnSimGrid(PLATFORM, by_chunk=True)(ALL_REDUCE, SIZE, forest, USUAL)
    assert chunks.sent_bytes.sum() == pytest.approx(flows.sent_bytes.sum(), rel=1e-3)
    assert flows.time_s < chunks.time_s < 1.5 * flows.time_s
    assert chunks.busy_s.max() <= (1.0 + 1e-9) * chunks.time_s
    assert (chunks.busy_s[flows.sent_bytes > 0.0] > 0.0).all()


@pytest.mark.parametrize("share", [0.25, 0.75])
def test_a_link_that_changes_meanwhile_carries_the_rest_more_slowly(share: float) -> None:
    """A flow by itself: a share of its time at the full rate, the rest at half of it."""
    sent = np.zeros((16, 16))
    sent[0, 5] = SIZE
    source, destination = np.nonzero(sent)
    nothing = np.zeros(0, dtype=np.int64)
    graph = Graph(
        source.astype(np.int32),
        destination.astype(np.int32),
        sent[source, destination],
        np.zeros(1, dtype=np.int32),
        nothing,
        nothing,
    )
    whole_s = SIZE / float(USUAL.hosts_bytes_s[0])
    change = Change(share * whole_s, platform_in(PLATFORM, USUAL.with_host(0, 0.5)))
    found = run_graph(PLATFORM, graph, tells_lanes=True, change=change)
    assert found.time_s == pytest.approx(whole_s * (share + 2.0 * (1.0 - share)), rel=1e-3)
    assert found.busy_s is not None
    assert found.busy_s[0] == pytest.approx(found.time_s)
    unlimited = replace(PLATFORM, send_bytes_s=np.full(16, np.inf))
    with pytest.raises(ValueError, match="unlimited"):
        run_graph(PLATFORM, graph, change=Change(0.1, unlimited))


def test_a_window_in_which_the_network_changes_lies_between() -> None:
    slow = USUAL.with_host(5, 0.4)
    forest = first_forest(USUAL)
    job = Job(SIZE, carry=OnSimGrid(PLATFORM))
    before, after = job.window(0, forest, USUAL), job.window(0, forest, slow)
    between = job.window(0, forest, Turn(USUAL, slow, 4.5))
    assert np.allclose(between.iteration_s[:4], before.iteration_s[:4])
    assert np.allclose(between.iteration_s[5:], after.iteration_s[5:])
    assert before.median_s < between.iteration_s[4] < after.median_s
    assert before.busy_s[5].max() < between.busy_s[5].max() < after.busy_s[5].max()


@pytest.mark.parametrize(("change", "by_chunk"), [("host", False), ("uplink", True)])
def test_the_tuner_relieves_what_is_slow_on_simgrid(change: str, *, by_chunk: bool) -> None:
    slow = USUAL.with_host(5, 0.4) if change == "host" else USUAL.with_uplink(2, 0.2)

    def at(number: int) -> State | Turn:
        return Turn(USUAL, slow, 6.5) if number == CHANGE else slow if number > CHANGE else USUAL

    carry = OnSimGrid(PLATFORM, by_chunk=by_chunk)
    done = run(USUAL, at, CHANGE + 11, carry=carry, size_bytes=102e6 if not by_chunk else SIZE)
    untouched_s = done.job.iteration_s(done.first, slow)
    fresh_s = done.job.iteration_s(first_forest(slow), slow)
    assert done.changes()
    assert done.steps[-1].truth_s < (0.97 if by_chunk else 0.8) * untouched_s
    assert done.steps[-1].truth_s < 1.15 * fresh_s


def test_a_network_that_does_not_change_keeps_its_plan() -> None:
    done = run(USUAL, lambda _: USUAL, 20, carry=OnSimGrid(PLATFORM))
    assert done.changes() == []
