"""Some rounds of the tournament: disjoint, even, connected, nested, and as good as random ones."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from plink.probes.rounds import count_rounds, round_robin, sample_rounds

Pairs = list[tuple[int, int]]


def adjacency(hosts: int, rounds: list[Pairs]) -> npt.NDArray[np.float64]:
    matrix = np.zeros((hosts, hosts))
    for a, b in (pair for pairs in rounds for pair in pairs):
        matrix[a, b] = matrix[b, a] = 1.0
    return matrix


def is_connected(hosts: int, rounds: list[Pairs]) -> bool:
    root = list(range(hosts))

    def find(host: int) -> int:
        while root[host] != host:
            root[host] = root[root[host]]
            host = root[host]
        return host

    for a, b in (pair for pairs in rounds for pair in pairs):
        root[find(a)] = find(b)
    return len({find(host) for host in range(hosts)}) == 1


def second_eigenvalue(hosts: int, rounds: list[Pairs]) -> float:
    """The largest absolute eigenvalue but the first."""
    return float(np.sort(np.abs(np.linalg.eigvalsh(adjacency(hosts, rounds))))[-2])


def diameter(hosts: int, rounds: list[Pairs]) -> int:
    near = adjacency(hosts, rounds) + np.eye(hosts) > 0
    reached, hops = near, 1
    while not reached.all():
        reached = (reached.astype(np.float32) @ near.astype(np.float32)) > 0
        hops += 1
    return hops


def random_regular(hosts: int, degree: int, seed: int) -> list[Pairs]:
    """`degree` random perfect matchings: a random regular graph, but for a few double edges."""
    rng = np.random.default_rng(seed)
    shuffles = [rng.permutation(hosts).tolist() for _ in range(degree)]
    return [list(zip(order[::2], order[1::2], strict=True)) for order in shuffles]


@given(hosts=st.integers(2, 90), rounds=st.integers(1, 100), seed=st.integers(0, 1 << 62))
def test_rounds_are_disjoint_pairs_that_meet_once(hosts: int, rounds: int, seed: int) -> None:
    sample = sample_rounds(hosts, rounds, seed)
    assert len(sample) == min(rounds, count_rounds(hosts))
    for pairs in sample:
        ends = [end for pair in pairs for end in pair]
        assert len(ends) == len(set(ends)) == hosts - hosts % 2
        assert set(ends) <= set(range(hosts))
        assert all(a < b for a, b in pairs)
    met = [pair for pairs in sample for pair in pairs]
    assert len(met) == len(set(met))


@given(hosts=st.integers(3, 90), rounds=st.integers(1, 100), seed=st.integers(0, 1 << 62))
def test_partners_are_as_even_as_can_be(hosts: int, rounds: int, seed: int) -> None:
    sample = sample_rounds(hosts, rounds, seed)
    partners = adjacency(hosts, sample).sum(axis=1)
    if hosts % 2 == 0:
        assert set(partners) == {len(sample)}
    else:
        assert sorted(partners)[: len(sample)] == [len(sample) - 1] * len(sample)
        assert set(partners[partners != len(sample) - 1]) <= {len(sample)}


@given(hosts=st.integers(2, 300), rounds=st.integers(2, 12), seed=st.integers(0, 1 << 62))
def test_two_rounds_and_more_connect_all_hosts(hosts: int, rounds: int, seed: int) -> None:
    assert is_connected(hosts, sample_rounds(hosts, rounds, seed))


def test_the_first_two_rounds_connect_every_number_of_hosts() -> None:
    for hosts in (*range(2, 40), *range(40, 400, 9)):
        first_two = sample_rounds(hosts, 2, seed=hosts)
        assert is_connected(hosts, first_two), hosts
        assert sum(map(len, first_two)) == (hosts if hosts % 2 == 0 and hosts > 2 else hosts - 1)


@given(hosts=st.integers(2, 60), data=st.data(), seed=st.integers(0, 1 << 62))
def test_a_longer_sample_begins_with_the_shorter_one(
    hosts: int, data: st.DataObject, seed: int
) -> None:
    longer = data.draw(st.integers(1, max(1, count_rounds(hosts) - 1)))
    shorter = data.draw(st.integers(1, longer))
    assert sample_rounds(hosts, longer, seed)[:shorter] == sample_rounds(hosts, shorter, seed)


@pytest.mark.parametrize("hosts", [2, 3, 8, 9])
def test_as_many_rounds_as_there_are_is_the_tournament(hosts: int) -> None:
    assert sample_rounds(hosts, count_rounds(hosts), 5) == round_robin(hosts)
    assert sample_rounds(hosts, 10**9, 5) == round_robin(hosts)


def test_the_seed_decides() -> None:
    assert sample_rounds(40, 4, 1) == sample_rounds(40, 4, 1)
    assert sample_rounds(40, 4, 1) != sample_rounds(40, 4, 2)


def test_the_sample_of_a_seed_never_changes() -> None:
    """A cluster file records the seed only: `--resume` must find the same pairs years later."""
    assert sample_rounds(10, 2, 7) == [
        [(0, 5), (1, 9), (2, 8), (3, 7), (4, 6)],
        [(0, 7), (1, 4), (2, 3), (5, 9), (6, 8)],
    ]


@pytest.mark.parametrize(("hosts", "rounds"), [(64, 16), (255, 32), (400, 16)])
def test_pairs_expand_as_those_of_a_random_regular_graph(hosts: int, rounds: int) -> None:
    ours = second_eigenvalue(hosts, sample_rounds(hosts, rounds, seed=3))
    even = hosts + hosts % 2
    random = [second_eigenvalue(even, random_regular(even, rounds, seed)) for seed in range(3)]
    assert ours <= 1.1 * max(random)
    assert ours <= 1.1 * 2.0 * math.sqrt(rounds - 1)


@pytest.mark.parametrize(("hosts", "rounds"), [(600, 8), (600, 32)])
def test_few_hops_lie_between_any_two_hosts(hosts: int, rounds: int) -> None:
    random = max(diameter(hosts, random_regular(hosts, rounds, seed)) for seed in range(3))
    assert diameter(hosts, sample_rounds(hosts, rounds, seed=3)) <= random + 1
