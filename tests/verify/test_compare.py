"""Reports of ranks against an order, and the reasons why they differ."""

from __future__ import annotations

import shlex
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plink.base.errors import PlinkError, WrongUseError
from plink.deploy.launchers import FORMATS
from plink.deploy.verify import (
    RANK_VARIABLES,
    RENUMBERED,
    PlacedRank,
    RankReport,
    Trial,
    compare,
    default_command,
    explain_misplacement,
    fill_command,
    fit_to_job,
    parse_reports,
    program_words,
    run_trial,
)
from plink.formats.hosts import Host

HOSTS = [Host("c", "10.0.0.3"), Host("a", "10.0.0.1", slots=2), Host("b", "b.example.org")]


def ranks(found: str) -> list[PlacedRank]:
    expected = [host.name for host in HOSTS for _ in range(host.slots)]
    return [PlacedRank(rank, expected[rank], host) for rank, host in enumerate(found)]


def test_a_rank_is_known_by_its_address_or_else_by_its_name() -> None:
    reports = [
        RankReport(3, "b", []),
        RankReport(1, "ip-10-0-0-1", ["192.168.0.1", "10.0.0.1"]),
        RankReport(0, "c.example.org", []),
        # The address counts, whatever the machine calls itself.
        RankReport(2, "c", ["10.0.0.1"]),
    ]
    assert compare(HOSTS, reports) == ranks("caab")
    assert all(rank.is_kept for rank in ranks("caab"))


def test_a_machine_that_is_none_of_the_hosts() -> None:
    reports = [RankReport(rank, name, []) for rank, name in enumerate(["c", "a", "a", "login"])]
    assert compare(HOSTS, reports)[3] == PlacedRank(3, "b", "login")


def test_a_renumbered_job_has_its_own_numbers_of_ranks() -> None:
    job = [RankReport(rank, name, []) for rank, name in enumerate(["c", "c", "b"])]
    assert all(rank.is_kept for rank in compare(fit_to_job(HOSTS, job), job))
    turned = [RankReport(2 - report.rank, report.hostname, []) for report in job]
    kept = [rank.is_kept for rank in compare(fit_to_job(HOSTS, turned), turned)]
    assert kept == [False, True, False]
    # Where the order has ranks of a host apart, it says how many.
    apart = [HOSTS[0], HOSTS[1], HOSTS[0]]
    assert fit_to_job(apart, job) == apart


@pytest.mark.parametrize(
    ("numbers", "said"),
    [
        ([0, 1, 1, 2], "two processes report that they are rank 1"),
        ([0, 1], "there is no report from rank 2, 3 of 4 ranks"),
        ([0, 1, 2, 3, 4], "5 ranks were started, but the order has 4"),
    ],
)
def test_ranks_that_are_none(numbers: list[int], said: str) -> None:
    with pytest.raises(PlinkError) as caught:
        compare(HOSTS, [RankReport(number, "c", []) for number in numbers])
    assert str(caught.value) == said


@pytest.mark.parametrize(
    ("found", "local", "said"),
    [
        ("baac", None, None),
        ("baac", "c", None),
        ("bbac", "b", "where the launcher was started, came first"),
        ("aabc", None, "sorted by name"),
        ("aacb", "a", "where the launcher was started, came first"),
        ("bcaa", "b", "where the launcher was started, came first"),
        ("caba", None, "dealt out to the hosts in turns"),
        ("ccab", None, "other hosts took ranks"),
        ("caax", None, "other hosts took ranks"),
    ],
)
def test_reasons(found: str, local: str | None, said: str | None) -> None:
    why = explain_misplacement(ranks(found), local)
    assert why is None if said is None else said in (why or "")


def test_the_program_says_rank_name_and_addresses() -> None:
    done = subprocess.run(
        program_words("renumber"),
        env={"PLINK_RANK": "7", "PATH": "/usr/bin:/bin:/sbin"},
        capture_output=True,
        text=True,
        check=True,
    )
    (report,) = parse_reports(f"[1,7]<stdout>: {done.stdout}")
    assert report.rank == 7
    assert (
        report.hostname
        == subprocess.run(
            ["uname", "-n"], capture_output=True, text=True, check=True
        ).stdout.strip()
    )


def test_the_program_gets_whole_through_deepspeed_and_pdsh() -> None:
    options, words = program_words("deepspeed")[:2], program_words("deepspeed")[2:]
    assert options == ["--no_python", "--no_local_rank"]
    # DeepSpeed 0.19.8, launcher/multinode_runner.py, PDSHRunner.parse_user_args; the shell of the
    # host that reads this knows no rank yet.
    quoted = ['"{}"'.format(word.replace('"', '\\"')) if " " in word else word for word in words]
    line = f"unset RANK; exec env RANK=3 {' '.join(quoted)}"
    done = subprocess.run(["sh", "-c", line], capture_output=True, text=True, check=True)
    (report,) = parse_reports(done.stdout)
    assert report.rank == 3


def test_addresses_of_ip_are_understood() -> None:
    line = "plink-placed 0 a 1: lo inet 127.0.0.1/8 scope host 2: eth0 inet6 fe80::1/64"
    assert parse_reports(line) == [RankReport(0, "a", ["127.0.0.1", "fe80::1"])]


@given(st.text())
def test_any_output_is_read(output: str) -> None:
    assert parse_reports(output) == []
    for report in parse_reports(f"plink-placed {output}"):
        assert report.rank >= 0


@pytest.mark.parametrize("launcher", sorted({*RANK_VARIABLES} - {RENUMBERED}))
def test_every_usage_line_has_a_place_for_the_program(launcher: str) -> None:
    words = ["sh", "-c", "echo $RANK"]
    command = fill_command(FORMATS[launcher].usage, "/tmp/a b", 4, words)
    assert ("$PLINK_PROGRAM" in command) != ("sh -c 'echo $RANK'" in command)
    assert not {"PROGRAM", "SCRIPT", "RANKS", "FILE"} & set(
        command.replace("$PLINK_PROGRAM", "").split()
    )
    assert ("SLURM_HOSTFILE=" in command) == (launcher == "slurm")
    assert "'/tmp/a b'" in command


def test_commands_that_cannot_be() -> None:
    with pytest.raises(WrongUseError, match="plink verify cannot run the launcher 'lightgbm'"):
        default_command("lightgbm", None)
    with pytest.raises(WrongUseError, match="is started by a shell"):
        default_command("torchrun", "/usr/bin/torchrun")
    with pytest.raises(WrongUseError):
        default_command(RENUMBERED, None)
    with pytest.raises(WrongUseError, match="does not contain the word PROGRAM"):
        fill_command("mpirun hostname", "f", 1, [])
    assert default_command("openmpi", "/opt/my mpi/mpirun").startswith("'/opt/my mpi/mpirun' -np")


def test_hosts_without_torchrun_are_a_case_for_another_interpreter(tmp_path: Path) -> None:
    command = "echo 'h1: sh: 1: torchrun: not found' >&2; exit 127 # PROGRAM"
    with pytest.raises(PlinkError, match="torchrun: not found") as caught:
        run_trial(Trial("torchrun", command, None, 10.0), HOSTS, tmp_path)
    assert "--python PATH" in (caught.value.hint or "")


@pytest.mark.parametrize("launcher", ["torchrun", "torchrun-script"])
@pytest.mark.parametrize("python", [None, "my python"])
def test_the_folders_that_torchrun_makes_for_logs_are_removed(
    launcher: str, python: str | None, tmp_path: Path
) -> None:
    logs, made = tmp_path / "logs", tmp_path / "made"
    logs.mkdir()
    here = f"""#!/bin/sh
export TMPDIR={shlex.quote(str(logs))}
shift 2
exec sh -c "$*"
"""
    torchrun = f"""#!/bin/sh
for word; do case "$word" in
    --log-dir=*) touch "${{word#*=}}/log" && echo "${{word#*=}}" >>{shlex.quote(str(made))};;
    --node-rank=*) export RANK="${{word#*=}}";;
esac; done
while [ "$1" != --no-python ]; do shift; done
shift
exec "$@"
"""
    folder = tmp_path / "a folder"
    folder.mkdir()
    interpreter = None if python is None else str(tmp_path / python)
    for path, text in {
        folder / "ssh": here,
        folder / "torchrun": torchrun,
        tmp_path / "my python": torchrun,
    }.items():
        path.write_text(text)
        path.chmod(0o700)
    hosts = [Host("a", "10.0.0.1"), Host("b", "10.0.0.2")]
    command = default_command(launcher, None)
    reports = run_trial(Trial(launcher, command, interpreter, 30.0), hosts, folder)
    assert sorted(report.rank for report in reports) == [0, 1]
    assert len(set(made.read_text().split())) == 2
    assert list(logs.iterdir()) == []
