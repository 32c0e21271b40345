from hypothesis import given
from hypothesis import strategies as st

from plink.probes.rounds import find_round, round_robin


@given(st.integers(0, 70))
def test_every_two_hosts_meet_exactly_once(hosts: int) -> None:
    met = [pair for pairs in round_robin(hosts) for pair in pairs]
    assert sorted(met) == [(i, j) for i in range(hosts) for j in range(i + 1, hosts)]


@given(st.integers(2, 70))
def test_no_host_is_in_two_pairs_of_a_round(hosts: int) -> None:
    for pairs in round_robin(hosts):
        ends = [end for pair in pairs for end in pair]
        assert len(ends) == len(set(ends)) == hosts - hosts % 2


@given(st.integers(2, 70))
def test_the_number_of_rounds_is_the_least_possible(hosts: int) -> None:
    assert len(round_robin(hosts)) == (hosts - 1 if hosts % 2 == 0 else hosts)


@given(st.integers(2, 70))
def test_the_round_of_a_pair_is_where_it_stands(hosts: int) -> None:
    for number, pairs in enumerate(round_robin(hosts)):
        assert {find_round(hosts, pair) for pair in pairs} == {number}
        assert {find_round(hosts, pair[::-1]) for pair in pairs} == {number}
