"""Collectives in flight: by hand, by what must hold of all, and by the papers' equations."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from overlap.drawn import networks, profiles
from plink.training.overlap.heuristics import wfbp
from plink.training.overlap.network import Network
from plink.training.overlap.profile import Profile, slowest
from plink.training.overlap.schedule import Schedule
from plink.training.overlap.timeline import Sharing, Span, simulate

_SHARINGS: tuple[Sharing, ...] = ("serial", "fair", "fifo")


def _at_once(sizes_bytes: tuple[int, ...]) -> Profile:
    return Profile(tuple(map(str, range(len(sizes_bytes)))), sizes_bytes, (0.0,) * len(sizes_bytes))


@pytest.mark.parametrize("sharing", _SHARINGS)
def test_one_at_a_time_takes_a_and_b_of_each(sharing: Sharing) -> None:
    network = Network(0.5, 0.25, 0.01, 0.005)
    spans = simulate(_at_once((100, 200)), Schedule((1, 2)), network, sharing)
    assert spans == [Span(0.0, 1.75), Span(1.75, 4.5)]


def test_two_at_once_take_what_the_paper_says() -> None:
    # Shi et al. 2021, equation 9: a + gamma b m each.
    network = Network.of_paper(1.0, 0.01, 1.5, 400.0)
    assert network.gamma(400.0) == pytest.approx(1.5)
    spans = simulate(_at_once((400, 400)), Schedule((1, 2), 2), network, "fair")
    assert [span.end_s for span in spans] == pytest.approx([7.0, 7.0])


def test_gamma_grows_with_the_size_until_the_line_is_full() -> None:
    network = Network(1.0, 0.0, 0.01, 0.0075)
    gammas = [network.gamma(size_bytes) for size_bytes in (1.0, 100.0, 1e4, 1e6)]
    assert gammas == sorted(gammas)
    assert gammas[-1] == pytest.approx(2 * 0.75)


def test_what_began_first_is_carried_first() -> None:
    network = Network(0.0, 0.0, 0.01, 0.01)
    profile, schedule = _at_once((100, 100)), Schedule((1, 2), 2)
    ends = {
        sharing: [span.end_s for span in simulate(profile, schedule, network, sharing)]
        for sharing in _SHARINGS
    }
    assert ends == {"serial": [1.0, 2.0], "fair": [2.0, 2.0], "fifo": [1.0, 2.0]}


@given(profiles(), networks(), st.integers(1, 4), st.sampled_from(_SHARINGS))
@settings(max_examples=40, deadline=None)
def test_what_holds_of_all(
    profile: Profile, network: Network, in_flight: int, sharing: Sharing
) -> None:
    schedule = Schedule(wfbp(profile).cuts, in_flight)
    groups = schedule.groups(profile)
    spans = simulate(profile, schedule, network, sharing)
    assert sum(group.size_bytes for group in groups) == profile.total_bytes
    for group, span in zip(groups, spans, strict=True):
        assert span.begin_s >= group.ready_s
        alone_s = network.alone_s(group.size_bytes)
        assert span.end_s - span.begin_s >= alone_s * (1.0 - 1e-9)
        under_way = [one for one in spans if one.begin_s <= span.begin_s < one.end_s]
        assert len(under_way) <= in_flight or alone_s == 0.0
    assert [span.begin_s for span in spans] == sorted(span.begin_s for span in spans)
    line_s = sum(network.line_s(group.size_bytes) for group in groups)
    assert max(span.end_s for span in spans) >= (groups[0].ready_s + line_s) * (1.0 - 1e-9)


def test_the_last_rank_counts() -> None:
    one = Profile(("a", "b", "c"), (1, 2, 3), (0.1, 0.2, 0.3))
    other = Profile(("c", "b", "a"), (3, 2, 1), (0.05, 0.25, 0.4))
    assert slowest([one, other]) == Profile(("b", "c", "a"), (2, 3, 1), (0.25, 0.3, 0.4))
    with pytest.raises(ValueError, match="different gradients"):
        slowest([one, Profile(("a",), (1,), (0.0,))])


@pytest.mark.parametrize("cuts", [(), (0, 2), (2, 2), (2, 1)])
def test_cuts_rise(cuts: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match="rise"):
        Schedule(cuts)


def test_a_schedule_fits_its_profile() -> None:
    with pytest.raises(ValueError, match="as many gradients"):
        Schedule((1,)).groups(_at_once((1, 2)))
