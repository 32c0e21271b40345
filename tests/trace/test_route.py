"""From answers to routes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plink.probes.trace.protocol import NoRoute, ProbeAnswer, Route, find_repeated, find_route

THERE = "10.0.0.9"


def udp(ttl: int, address: str, icmp_type: int = 11, code: int = 0) -> ProbeAnswer:
    return ProbeAnswer(False, ttl, address, icmp_type, code)


def echo(ttl: int, address: str, icmp_type: int = 11, code: int = 0) -> ProbeAnswer:
    return ProbeAnswer(True, ttl, address, icmp_type, code)


def no_route(*answers: ProbeAnswer) -> NoRoute:
    found = find_route(answers, THERE, "n09")
    assert isinstance(found, NoRoute)
    return found


def test_a_neighbour_is_one_hop_away() -> None:
    assert find_route([udp(1, THERE, 3, 3)], THERE, "n09") == Route(1, ())


def test_routers_in_their_order_and_gaps() -> None:
    answers = [udp(4, THERE, 3, 3), udp(3, "10.0.0.3"), udp(1, "10.0.0.1")]
    assert find_route(answers, THERE, "n09") == Route(4, ("10.0.0.1", None, "10.0.0.3"))


def test_answers_from_beyond_do_not_count() -> None:
    answers = [udp(1, "10.0.0.1"), udp(2, THERE, 3, 3), udp(3, THERE, 3, 3), udp(4, "10.0.0.4")]
    assert find_route(answers, THERE, "n09") == Route(2, ("10.0.0.1",))


def test_a_host_that_refuses_by_other_words_was_reached() -> None:
    assert find_route([udp(2, THERE, 3, 10)], THERE, "n09") == Route(2, (None,))


def test_the_routes_of_udp_and_echo_are_not_mixed() -> None:
    both = [udp(1, "10.0.0.1"), echo(1, "10.0.0.2"), echo(3, THERE, 0)]
    assert find_route(both, THERE, "n09") == Route(3, ("10.0.0.2", None))
    arrived = [*both, udp(2, THERE, 3, 3)]
    assert find_route(arrived, THERE, "n09") == Route(2, ("10.0.0.1",))


def test_silence_says_how_far_it_went() -> None:
    assert no_route() == NoRoute("n09 answers no probe, nor does a router", True)
    reason = "n09 answers no probe, 10.0.0.2, hop 2, was the last"
    assert no_route(udp(2, "10.0.0.2"), udp(1, "10.0.0.1")) == NoRoute(reason, True)


@pytest.mark.parametrize(
    ("code", "words"),
    [(0, "network unreachable"), (13, "administratively prohibited"), (99, "code 99")],
)
def test_a_refusal_names_who_and_why(code: int, words: str) -> None:
    found = no_route(udp(1, "10.0.0.1"), udp(2, "10.0.0.2", 3, code))
    assert found.reason.startswith("10.0.0.2, hop 2, says: ")
    assert words in found.reason
    assert not found.is_silent


def test_a_circle_is_named() -> None:
    ways = ["10.0.0.1", "10.0.0.2", "10.0.0.3", "10.0.0.2", "10.0.0.3"]
    found = no_route(*(udp(ttl, address) for ttl, address in enumerate(ways, start=1)))
    assert found == NoRoute("packets go in circles: 10.0.0.2 is hop 2 and hop 4", False)


def test_silent_routers_are_no_repetition() -> None:
    assert find_repeated((None, None)) is None
    assert find_repeated(("10.0.0.1", None, "10.0.0.1")) == "10.0.0.1"


addresses = st.sampled_from([THERE, "10.0.0.1", "10.0.0.2", "10.0.0.3"])
answers = st.builds(
    ProbeAnswer,
    st.booleans(),
    st.integers(1, 255),
    addresses,
    st.sampled_from([0, 3, 11, 5]),
    st.integers(0, 255),
)


@given(st.lists(answers, max_size=30))
def test_whatever_was_answered_is_a_route_or_a_reason(said: list[ProbeAnswer]) -> None:
    found = find_route(said, THERE, "n09")
    if isinstance(found, NoRoute):
        assert found.reason
    else:
        assert len(found.routers) == found.hops - 1
        assert any(answer.address == THERE and answer.ttl == found.hops for answer in said)


@given(st.lists(st.none() | addresses.filter(lambda a: a != THERE), max_size=20))
def test_a_true_route_is_found_whatever_the_order(routers: list[str | None]) -> None:
    said = [udp(ttl, router) for ttl, router in enumerate(routers, start=1) if router]
    said.append(udp(len(routers) + 1, THERE, 3, 3))
    expected = Route(len(routers) + 1, tuple(routers))
    assert find_route(said, THERE, "n09") == expected
    assert find_route(said[::-1], THERE, "n09") == expected
