"""Who gets which rank: against brute force, and by what must always hold."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plink.renumber.assignment import Run, assign_ranks, find_misfit, join_domains
from plink.renumber.launch import (
    LAUNCHERS,
    Launch,
    Placement,
    read_launch,
    renumbered_environment,
)

NAMES = st.sampled_from("abcd")


@st.composite
def jobs(draw: st.DrawFn) -> tuple[list[str], list[Run]]:
    """The host of each process, and an order of these hosts and perhaps others."""
    hosts = draw(st.lists(NAMES, min_size=1, max_size=8))
    order = draw(st.permutations(sorted({*hosts, *draw(st.sets(NAMES))})))
    return hosts, [Run(host, draw(st.integers(1, 3))) for host in order]


@given(jobs())
def test_hosts_stay_whole_and_follow_the_order(job: tuple[list[str], list[Run]]) -> None:
    hosts, runs = job
    agents = assign_ranks(hosts, runs)
    assert sorted(agents) == list(range(len(hosts)))
    ranked = [hosts[agent] for agent in agents]
    assert [host for host, _ in itertools.groupby(ranked)] == [
        run.host for run in runs if run.host in hosts
    ]
    for host in set(hosts):
        local = [agent for agent in agents if hosts[agent] == host]
        assert local == sorted(local)


@given(st.lists(st.sampled_from("ab"), min_size=1, max_size=6), st.integers(1, 2))
def test_ranks_that_are_apart_fill_their_runs_as_slots_do(apart: list[str], times: int) -> None:
    """A process for each slot, or as many for each: the order of hosts is that of the slots."""
    runs = [Run(host) for host in apart]
    hosts = sorted(apart * times)
    assert find_misfit(hosts, runs) is None
    agents = assign_ranks(hosts, runs)
    ranked = [hosts[agent] for agent in agents]
    assert ranked == [host for host in apart for _ in range(times)] or len(set(apart)) == 1
    for host in set(hosts):
        local = [agent for agent in agents if hosts[agent] == host]
        assert local == sorted(local)


def test_local_ranks_decide_whatever_the_launchers_order() -> None:
    # A cyclic distribution, and one whose local numbers run the other way.
    assert assign_ranks(list("abab"), [Run("b"), Run("a")], [0, 0, 1, 1]) == [1, 3, 0, 2]
    assert assign_ranks(list("aabb"), [Run("b"), Run("a")], [1, 0, 1, 0]) == [3, 2, 1, 0]
    assert find_misfit(list("aaab"), [Run("a"), Run("b"), Run("a")]) == "a"


@given(
    st.permutations("abcdef"),
    st.dictionaries(st.sampled_from("abcdef"), st.sampled_from("XY"), max_size=6),
)
def test_a_domain_stays_together_at_its_first_place(
    order: Sequence[str], domain_of: dict[str, str]
) -> None:
    joined = [run.host for run in join_domains([Run(host) for host in order], domain_of)]
    assert sorted(joined) == sorted(order)
    blocks = [key for key, _ in itertools.groupby(joined, lambda host: domain_of.get(host, host))]
    assert len(blocks) == len(set(blocks))
    # Brute force: of all such orders the one that begins as early as can be at every place.
    allowed = [
        list(one)
        for one in itertools.permutations(order)
        if len([k for k, _ in itertools.groupby(one, lambda host: domain_of.get(host, host))])
        == len(set(blocks))
    ]
    assert joined == min(allowed, key=lambda one: [order.index(host) for host in one])


PLACED = Placement(
    rank=5,
    ranks=8,
    local_rank=1,
    local_ranks=4,
    host_rank=1,
    hosts=["b", "a"],
    host_of_rank=[0] * 4 + [1] * 4,
    former_ranks=list(range(8)),
    master_address="10.0.0.2",
)


@pytest.mark.parametrize("launcher", LAUNCHERS, ids=lambda launcher: launcher.name)
def test_every_launcher_tells_a_rank_and_is_told_the_new_one(launcher: object) -> None:
    found = next(one for one in LAUNCHERS if one == launcher)
    environment = {found.rank: "1", found.size: "8", found.local_rank: "1"}
    launch = read_launch(environment)
    assert (launch.rank, launch.ranks, launch.local_rank) == (1, 8, 1)
    changes = renumbered_environment(environment, launch, PLACED)
    assert (changes["RANK"], changes["WORLD_SIZE"], changes["PLINK_RANK"]) == ("5", "8", "5")
    # MPICH finds its own processes by PMI_RANK.
    assert changes.get(found.rank, "1") == ("5" if found.is_changed else "1")


def test_variables_of_a_launcher_that_counts_other_things_stay() -> None:
    environment = {
        "RANK": "1",
        "WORLD_SIZE": "8",
        "LOCAL_RANK": "1",
        "ROLE_RANK": "1",
        "SLURM_PROCID": "1",
        "SLURM_NTASKS": "2",
        "NODE_RANK": "0",
        "MASTER_ADDR": "10.0.0.1",
        "MASTER_PORT": "29500",
        "JAX_COORDINATOR_ADDRESS": "10.0.0.1:1234",
    }
    changes = renumbered_environment(environment, Launch(1, 8, 1, "torchrun"), PLACED)
    assert "SLURM_PROCID" not in changes
    assert (changes["ROLE_RANK"], changes["NODE_RANK"], changes["GROUP_RANK"]) == ("5", "1", "1")
    assert changes["MASTER_ADDR"] == "10.0.0.2"
    assert changes["JAX_COORDINATOR_ADDRESS"] == "10.0.0.2:1234"
    kept = renumbered_environment(
        {**environment, "TORCHELASTIC_USE_AGENT_STORE": "True"}, Launch(1, 8, 1, ""), PLACED
    )
    assert "MASTER_ADDR" not in kept
