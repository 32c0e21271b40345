"""The environment of a Slurm job, however odd; and the steps that measure beside it."""

from __future__ import annotations

import shlex

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plink.base.errors import PlinkError
from plink.deploy.slurm.allocation import has_one_node, read_allocation, step_template
from plink.probes.errors import ProbesError
from plink.probes.hosts.hostlist import check_name
from plink.probes.via import parse_template

JOB = {
    "SLURM_JOB_ID": "17",
    "SLURM_CLUSTER_NAME": "big",
    "SLURM_JOB_NODELIST": "node[01-03,16],gpu7",
    "SLURM_TASKS_PER_NODE": "2(x3),1,4",
}
NAMES = ["SLURM_JOB_NODELIST", "SLURM_TASKS_PER_NODE", "SLURM_JOB_ID", "SLURM_CLUSTER_NAME"]
ODD = st.one_of(
    st.text(max_size=20),
    st.text("node[]0123456789-,()x ", max_size=30),
    st.sampled_from(["", "0", "n[1-99999999]", "2(x99999999)", "../..", "n1,n2", "1(x2)", "$(id)"]),
)


def test_nodes_and_their_tasks():
    found = read_allocation(JOB)
    assert (found.job, found.cluster) == ("17", "big")
    assert [(host.name, host.slots) for host in found.hosts] == [
        ("node01", 2),
        ("node02", 2),
        ("node03", 2),
        ("node16", 1),
        ("gpu7", 4),
    ]
    assert {host.slots for host in read_allocation(JOB, tasks_per_node=8).hosts} == {8}


@given(st.dictionaries(st.sampled_from([*NAMES, "SLURM_HET_SIZE"]), ODD))
def test_odd_values_are_an_error_or_an_allocation(values):
    try:
        found = read_allocation({**JOB, **values})
    except (PlinkError, ProbesError):
        return
    for name in found.names:
        check_name(name, "here")
    assert found.job.isascii()
    assert found.job.isdigit()
    assert "/" not in found.cluster
    assert not found.cluster.startswith(".")


def test_components_are_refused():
    with pytest.raises(PlinkError, match="2 components"):
        read_allocation({**JOB, "SLURM_HET_SIZE": "2"})


@pytest.mark.parametrize(("value", "is_one"), [("1", True), ("2", False), (None, False)])
def test_one_node(value, is_one):
    environment = {} if value is None else {"SLURM_JOB_NUM_NODES": value}
    assert has_one_node(environment) == is_one


def test_a_step_asks_for_nothing_that_the_job_asks_for():
    words = parse_template(step_template()).argv("n1", "echo $HOME")
    assert words[0] == "env"
    assert words[-4:] == ["n1", "sh", "-c", "echo $HOME"]
    unset = {words[place + 1] for place, word in enumerate(words) if word == "-u"}
    assert {"SLURM_HOSTFILE", "SLURM_DISTRIBUTION", "SLURM_NTASKS", "SLURM_GRES"} <= unset
    assert "SLURM_JOB_ID" not in unset
    assert "--overlap" in words
    assert shlex.split(step_template())[-1] == "{host}"
