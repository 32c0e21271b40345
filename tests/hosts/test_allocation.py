"""Hosts of a Slurm allocation, from its environment."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plink.probes.errors import HostListError
from plink.probes.hosts.hostlist import ListedHost
from plink.probes.hosts.slurm import parse_allocation


def allocation(nodes: str, tasks: str | None = None) -> list[tuple[str, int]]:
    environment = {"SLURM_JOB_NODELIST": nodes}
    if tasks is not None:
        environment["SLURM_TASKS_PER_NODE"] = tasks
    return [(host.name, host.slots) for host in parse_allocation(environment)]


def test_nodes_and_their_tasks() -> None:
    # As sbatch(1) describes them for four nodes, one with fewer tasks.
    assert allocation("gpu[01-03],login-a", "8(x3),2") == [
        *[("gpu01", 8), ("gpu02", 8), ("gpu03", 8)],
        ("login-a", 2),
    ]


def test_one_slot_where_tasks_are_not_told() -> None:
    assert allocation("a[1-2]-ib,b") == [("a1-ib", 1), ("a2-ib", 1), ("b", 1)]


def test_the_place_is_the_variable() -> None:
    host = parse_allocation({"SLURM_JOB_NODELIST": "a,b"})[0]
    assert host == ListedHost("a", place="SLURM_JOB_NODELIST")


@pytest.mark.parametrize(
    ("nodes", "tasks", "said"),
    [
        ("", None, "SLURM_JOB_NODELIST is not set: this is not a Slurm allocation"),
        ("a[1-", None, "SLURM_JOB_NODELIST: a bracket is not closed"),
        ("a;id,b", None, "SLURM_JOB_NODELIST: 'a;id' is not a host name"),
        ("a,b", "1(x3)", "SLURM_TASKS_PER_NODE is for 3 nodes, but SLURM_JOB_NODELIST names 2"),
        ("a,b", "two", "SLURM_TASKS_PER_NODE: 'two' is not a number of tasks, as in 2(x3)"),
        ("a,b", "0,1", "SLURM_TASKS_PER_NODE: '0' is not a number of tasks, as in 2(x3)"),
        ("a,b", "1(x999999999)", "SLURM_TASKS_PER_NODE is for more than 65,536 nodes"),
        ("a,a", None, "SLURM_JOB_NODELIST: a is listed twice on this line"),
        ("a", None, "SLURM_JOB_NODELIST: a is the only host listed"),
    ],
)
def test_refusals(nodes: str, tasks: str | None, said: str) -> None:
    with pytest.raises(HostListError) as caught:
        allocation(nodes, tasks)
    assert str(caught.value) == said


@given(st.text("ab01,[]-()x ", max_size=30), st.text("012,(x)", max_size=20))
def test_any_text_is_read_or_refused(nodes: str, tasks: str) -> None:
    try:
        found = allocation(nodes, tasks)
    except HostListError:
        return
    assert len(found) >= 2
