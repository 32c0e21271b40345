"""Jobs of Slurm as host lists: what scontrol of 22.05 printed, shortened, not changed."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plink.measure.listed import read_hosts
from plink.probes.errors import HostListError
from plink.probes.hosts.hostlist import ListedHost
from plink.probes.inventories.slurm_jobs import SlurmJob, list_job_hosts, parse_job
from plink.probes.options import SshOptions, ViaOptions

# Its owner may call a job as he likes, and comment on it.
RUNNING = """\
JobId=1 JobName=my NodeList=evil
   UserId=root(0) GroupId=root(0) MCS_label=N/A
   JobState=RUNNING Reason=None Dependency=(null)
   StartTime=2026-11-23T11:27:27 EndTime=Unknown Deadline=N/A
   Partition=all AllocNode:Sid=n04:20535
   ReqNodeList=(null) ExcNodeList=(null)
   NodeList=n[01-02,04]
   BatchHost=n01
   NumNodes=3 NumCPUs=3 NumTasks=6 CPUs/Task=1 ReqB:S:C:T=0:0:*:*
   TRES=cpu=3,node=3,billing=3
   Command=(null)
   Comment=JobState=PENDING
   Power=


"""
PENDING = """\
JobId=2 ArrayJobId=2 ArrayTaskId=1-3 JobName=wrap
   UserId=root(0) GroupId=root(0) MCS_label=N/A
   JobState=PENDING Reason=Resources Dependency=(null)
   ReqNodeList=(null) ExcNodeList=(null)
   NodeList=
   NumNodes=1-1 NumCPUs=2 NumTasks=2 CPUs/Task=1 ReqB:S:C:T=0:0:*:*
   Power=


"""
TASK = RUNNING.replace("JobId=1 JobName=my NodeList=evil", "JobId=3 ArrayJobId=2 ArrayTaskId=0")


def test_a_job_that_runs() -> None:
    assert parse_job(RUNNING, "slurm:1") == SlurmJob("1", "n[01-02,04]", slots=2)


def test_uneven_tasks_are_a_slot_each() -> None:
    text = RUNNING.replace("NumTasks=6", "NumTasks=5")
    assert parse_job(text, "slurm:1").slots == 1


def test_the_task_of_an_array_that_runs_is_meant() -> None:
    assert parse_job(PENDING + TASK, "slurm:2").number == "3"


@pytest.mark.parametrize(
    ("text", "said", "hint"),
    [
        (PENDING, "slurm:2: the job is pending, and only a running job has nodes", "squeue --me"),
        ("", "slurm:2: Slurm describes no job, and only a running job has nodes", "squeue --me"),
        (
            TASK + RUNNING,
            "slurm:2: 2 components or array tasks of the job are running",
            "choose one of slurm:3, slurm:1",
        ),
        (
            RUNNING.replace("NodeList=n[01-02,04]", "NodeList=(null)"),
            "slurm:2: Slurm reports no nodes of the job",
            "squeue --me",
        ),
    ],
)
def test_what_has_no_nodes_is_refused(text: str, said: str, hint: str) -> None:
    with pytest.raises(HostListError) as caught:
        parse_job(text, "slurm:2")
    assert str(caught.value) == said
    assert str(caught.value.hint).startswith(hint)


@pytest.mark.parametrize("job", ["x", "12; reboot", "--all", "1_", "99999999999"])
def test_what_is_no_number_reaches_no_program(job: str) -> None:
    with pytest.raises(HostListError, match="is not the number of a Slurm job"):
        read_hosts(f"slurm:{job}")


def test_the_job_that_this_process_belongs_to(monkeypatch: pytest.MonkeyPatch) -> None:
    # Needs no program of Slurm's here: a container of the job may have none.
    monkeypatch.setenv("SLURM_JOB_ID", "42")
    monkeypatch.setenv("SLURM_JOB_NODELIST", "n[1-2]")
    monkeypatch.setenv("SLURM_TASKS_PER_NODE", "8(x2)")
    found = read_hosts("slurm:")
    assert [(host.name, host.slots) for host in found.hosts] == [("n1", 8), ("n2", 8)]
    assert found.way(SshOptions(concurrency=7)) == ViaOptions(
        "srun --overlap --jobid 42 -N1 -n1 -w {host}", concurrency=7
    )


def test_outside_of_a_job_there_is_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SLURM_JOB_NODELIST", raising=False)
    with pytest.raises(HostListError, match="this is not a Slurm allocation"):
        read_hosts("slurm:")


def test_names_of_hosts() -> None:
    job = SlurmJob("1", "n[1-2]", 4)
    assert list_job_hosts(job, "n1\nn2\n", "slurm:1") == [
        ListedHost(name, slots=4, place="slurm:1") for name in ("n1", "n2")
    ]
    with pytest.raises(HostListError):
        list_job_hosts(job, "n1\n-n2\n", "slurm:1")


@given(st.text(alphabet="JobId=State NumdsLt12345_()[]\n", max_size=200))
def test_any_text_is_a_job_or_refused(text: str) -> None:
    try:
        found = parse_job(text, "slurm:1")
    except HostListError:
        return
    assert found.nodes
    assert found.slots >= 1
