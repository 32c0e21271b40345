"""Which hosts and cases a fit uses."""

from __future__ import annotations

import pytest

from plink.base.replacing import replace
from plink.bench.fit import chosen_hosts, crowd_runs, runs_of
from plink.formats.cluster import Cluster
from plink.formats.hosts import Group, Host

CLUSTER = Cluster([Host(f"n{number}", f"n{number}") for number in range(10)])


def test_hosts_are_of_the_two_largest_groups() -> None:
    groups = [
        Group("r1", ["n0"]),
        Group("r2", ["n1", "n3", "n5", "n7", "n9"]),
        Group("r3", ["n2", "n4", "n6"]),
    ]
    assert chosen_hosts(replace(CLUSTER, groups=groups), 8) == [1, 3, 5, 7, 2, 4, 6]
    assert chosen_hosts(replace(CLUSTER, groups=groups), 4) == [1, 3, 2, 4]
    assert chosen_hosts(CLUSTER, 8) == list(range(8))


@pytest.mark.parametrize("client", ["gloo", "openmpi", "mpich"])
def test_cases_differ_and_have_two_ranks_at_least(client: str) -> None:
    for chosen, first in ((8, 4), (7, 4), (3, 1), (2, 2), (2, 1)):
        runs = [(run.algorithm, tuple(run.seats)) for run in runs_of(client, chosen, first)]
        assert runs
        assert len(set(runs)) == len(runs)
        for _, seats in runs:
            assert len(set(seats)) == len(seats) >= 2
            assert set(seats) <= set(range(chosen))


def test_clients_that_spin_are_tried_with_as_many_ranks_as_there_are_hosts() -> None:
    runs = list(crowd_runs("mpich", 8, 21, 2))
    assert runs
    assert all(list(run.seats) == [*range(8), *range(8), *range(5)] for run in runs)
    assert max(len(run.seats) for run in crowd_runs("mpich", 8, 100, 2)) == 32
    # Where hosts have their own cores, or no more take part later on, it shows nothing.
    assert not list(crowd_runs("mpich", 8, 21, None))
    assert not list(crowd_runs("mpich", 8, 8, 2))
    assert not list(crowd_runs("mpich", 8, 21, 64))
    assert not list(crowd_runs("openmpi", 8, 21, 2))
