"""Which hosts and cases a fit uses."""

from __future__ import annotations

from dataclasses import replace

import pytest

from plink.bench.fit import chosen_hosts, runs_of
from plink.files.cluster import Cluster, Host
from plink.files.groups import Group

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
