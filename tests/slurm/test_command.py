"""`plink slurm-order` outside of a job and where things fail: the job always runs."""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path

import pytest

from plink.base.errors import PlinkError
from plink.cli import run
from plink.deploy.slurm.allocation import shell_lines, write_hostfile
from plink.deploy.slurm.kept import Kept
from plink.formats.hosts import Host
from slurm.test_allocation import JOB
from slurm.test_kept import cluster
from support.schemas import check

NAMES = ["n1", "n2", "n3", "n4"]
HOSTS = [Host(name, name, slots=slots) for name, slots in (("n2", 2), ("n1", 1))]


@pytest.fixture
def job(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """In a job of four nodes without Slurm's commands; where readings are kept."""
    for name in JOB:
        monkeypatch.setenv(name, JOB[name])
    monkeypatch.setenv("SLURM_JOB_NODELIST", "n[1-4]")
    monkeypatch.setenv("SLURM_TASKS_PER_NODE", "2(x4)")
    monkeypatch.setenv("PATH", str(tmp_path))
    return tmp_path / "kept"


def near(a: str, b: str) -> float:
    """n1 and n3 share a rack, and n2 and n4."""
    return 20.0 if int(a[1]) % 2 == int(b[1]) % 2 else 90.0


def keep_all(folder: Path) -> None:
    all_pairs = {(a, b): near(a, b) for a in NAMES for b in NAMES if a != b}
    Kept(folder / "big", timedelta(days=1)).keep(cluster(all_pairs), None, "1")


def test_what_is_kept_suffices(job, capsys):
    keep_all(job)
    assert run(["slurm-order", "--keep", str(job)]) == 0
    shown = capsys.readouterr()
    file = job / "big" / "hostfiles" / "17.hosts"
    assert shown.out == (f"export SLURM_HOSTFILE={file}\nexport SLURM_DISTRIBUTION=arbitrary\n")
    lines = file.read_text().split()
    assert lines[::2] == lines[1::2]
    assert sorted(lines[::2]) == NAMES
    ring = lines[::2]
    assert sum(near(a, b) > 50.0 for a, b in zip(ring, [*ring[1:], ring[0]], strict=True)) == 2
    assert "nothing measured" in shown.err


def test_json_in_place_of_the_lines(job, capsys):
    keep_all(job)
    out = job.parent / "hosts"
    assert run(["slurm-order", "--keep", str(job), "--json", "-o", str(out)]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["ordered"], found["source"], found["hostfile"]) == (True, "kept", str(out))
    assert [host["tasks"] for host in found["hosts"]] == [2] * 4
    assert found["cost_us"] <= found["cost_given_us"]
    check("slurm-order-output", found)


@pytest.mark.parametrize("reach", ["steps", "agents"])
def test_without_srun_the_job_runs_in_the_given_order(job, capsys, reach):
    words = ["slurm-order", "--keep", str(job), "--reach", reach]
    assert run(words) == 0
    shown = capsys.readouterr()
    assert shown.out == ""
    assert "warning: the job runs in the given order" in shown.err
    assert run([*words, "--strict", "--json"]) == 1
    told = json.loads(capsys.readouterr().out)
    assert told["ordered"] is False
    check("slurm-order-output", told)


def test_a_node_that_nobody_knows_comes_last(job, capsys, monkeypatch):
    keep_all(job)
    monkeypatch.setenv("SLURM_JOB_NODELIST", "n1,n9,n[2-4]")
    monkeypatch.setenv("SLURM_TASKS_PER_NODE", "1(x5)")
    assert run(["slurm-order", "--keep", str(job)]) == 0
    assert "the job runs in the given order" in capsys.readouterr().err


def test_without_the_file_of_groups_the_job_runs_in_the_given_order(job, capsys):
    keep_all(job)
    assert run(["slurm-order", "--keep", str(job), "--groups", str(job / "none.json")]) == 0
    shown = capsys.readouterr()
    assert shown.out == ""
    assert "the job runs in the given order" in shown.err
    assert "none.json" in shown.err


def test_outside_of_a_job_and_with_one_node(capsys, monkeypatch):
    for name in ("SLURM_JOB_NODELIST", "SLURM_JOB_NUM_NODES", "SLURM_NNODES"):
        monkeypatch.delenv(name, raising=False)
    assert run(["slurm-order"]) == 0
    shown = capsys.readouterr()
    assert (shown.out, "not a Slurm allocation" in shown.err) == ("", True)
    monkeypatch.setenv("SLURM_JOB_NUM_NODES", "1")
    assert run(["slurm-order", "--strict"]) == 0
    assert "one node" in capsys.readouterr().err


def test_the_host_file_has_a_line_a_task_and_a_plain_name(tmp_path):
    found = write_hostfile(HOSTS, None, tmp_path / "kept", "7")
    assert found == str(tmp_path / "kept" / "7.hosts")
    assert Path(found).read_text() == "n2\nn2\nn1\n"
    assert shell_lines(found).startswith(f"export SLURM_HOSTFILE={found}\n")
    with pytest.raises(PlinkError, match="not safe in a shell assignment"):
        write_hostfile(HOSTS, str(tmp_path / "my hosts"), tmp_path, "7")
    elsewhere = Path(write_hostfile(HOSTS, None, tmp_path / "a $(b)", "7"))
    assert elsewhere.read_text() == "n2\nn2\nn1\n"
    elsewhere.unlink()
    elsewhere.parent.rmdir()
