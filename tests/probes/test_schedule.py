from random import Random

from hypothesis import given
from hypothesis import strategies as st

from plink.probes.echo.grants import Grant, Grants, Schedule
from plink.probes.rounds import round_robin
from plink.probes.samples import Suspicion
from support.pairs import all_pairs


@st.composite
def wanted_pairs(draw: st.DrawFn) -> tuple[int, frozenset[tuple[int, int]]]:
    hosts = draw(st.integers(2, 12))
    chosen = draw(st.sets(st.sampled_from(sorted(all_pairs(hosts)))))
    return hosts, frozenset(chosen)


@given(wanted_pairs())
def test_exactly_the_wanted_directions_are_probed(
    case: tuple[int, frozenset[tuple[int, int]]],
) -> None:
    hosts, wanted = case
    schedule = Schedule(hosts, wanted, round_robin(hosts))
    probed = {
        (host, meeting.partner)
        for host in range(hosts)
        for meeting in schedule.meetings[host]
        if meeting.probes
    }
    assert probed == wanted == schedule.pending


@given(wanted_pairs())
def test_both_ends_know_of_a_meeting(case: tuple[int, frozenset[tuple[int, int]]]) -> None:
    schedule = Schedule(*case, round_robin(case[0]))
    for host, meetings in enumerate(schedule.meetings):
        for meeting in meetings:
            assert schedule.partner(host, meeting.round) == meeting.partner
            assert schedule.partner(meeting.partner, meeting.round) == host


def test_a_direction_is_settled_once() -> None:
    schedule = Schedule(3, all_pairs(3), round_robin(3))
    assert schedule.settle(0, 1)
    assert not schedule.settle(0, 1)
    assert schedule.owed_with(0) == [(0, 2), (1, 0), (2, 0)]


@given(st.integers(2, 12), st.integers(1, 6), st.randoms(use_true_random=False))
def test_grants_are_disjoint_few_and_complete(hosts: int, most: int, random: Random) -> None:
    meetings = list(Schedule(hosts, all_pairs(hosts), round_robin(hosts)).pairs())
    grants = Grants(meetings, most)
    running: list[Grant] = []
    done = []
    while True:
        running += grants.next()
        if not running:
            break
        ends = [end for grant in running for end in (grant.leader, grant.follower)]
        assert len(ends) == len(set(ends))
        slots = {grant.slot for grant in running}
        assert len(slots) == len(running)
        assert slots <= set(range(most))
        finished = running.pop(random.randrange(len(running)))
        ends = [finished.leader, finished.follower]
        random.shuffle(ends)
        grants.over(ends[0], finished.round)
        still = grants.next()
        assert not {end for grant in still for end in (grant.leader, grant.follower)} & {ends[1]}
        running += still
        grants.over(ends[1], finished.round)
        done.append((finished.round, finished.leader, finished.follower))
    assert sorted(done) == meetings


def test_the_meetings_of_a_lost_host_are_not_granted() -> None:
    grants = Grants(Schedule(4, all_pairs(4), round_robin(4)).pairs(), 1)
    (first,) = grants.next()
    grants.host_lost(first.leader)
    assert not grants.next()
    grants.over(first.follower, first.round)
    rest = []
    while granted := grants.next():
        rest += granted
        grants.over(granted[0].leader, granted[0].round)
        grants.over(granted[0].follower, granted[0].round)
    assert len(rest) == 3
    assert first.leader not in {end for grant in rest for end in (grant.leader, grant.follower)}


def test_a_silent_host_is_suspected_twice() -> None:
    suspicion = Suspicion()
    suspected = [suspicion.silence(9, other) for other in range(8)]
    assert suspected == [[], [9], [], [], [], [9], [], []]


def test_a_meeting_that_was_given_up_holds_nobody_else_up() -> None:
    grants = Grants([(0, 0, 1), (0, 2, 3), (1, 0, 2), (1, 1, 3)], 1)
    (first,) = grants.next()
    grants.given_up(0, 0)
    grants.given_up(1, 0)
    (second,) = grants.next()
    assert (first.leader, second.leader, second.slot) == (0, 2, first.slot)
    grants.over(0, 0)
    assert not grants.next()
    grants.over(2, 0)
    grants.over(3, 0)
    # Host 1 has not said that its meeting is over, and so meets nobody.
    (third,) = grants.next()
    assert (third.leader, third.follower) == (0, 2)
    grants.over(0, 1)
    grants.over(2, 1)
    assert not grants.next()
    grants.over(1, 0)
    assert [(grant.leader, grant.follower) for grant in grants.next()] == [(1, 3)]
    assert not grants.next()


def test_a_reading_clears_a_suspicion() -> None:
    suspicion = Suspicion()
    assert suspicion.silence(0, 9) == []
    suspicion.reading(9, 5)
    assert suspicion.silence(1, 9) == []
    assert suspicion.silence(9, 2) == [9]


def test_only_hosts_that_were_never_heard_are_silent_to_all() -> None:
    suspicion = Suspicion()
    suspicion.silence(3, 4)
    assert suspicion.silent_to_all() == []
    suspicion.reading(0, 3)
    assert suspicion.silent_to_all() == [4]
