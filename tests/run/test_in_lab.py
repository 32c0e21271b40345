"""`plink run` on the hosts of the lab."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from plink.cli import run
from plink.formats.hosts import Host
from support.lab import Lab, lab_cluster
from verify.orders import write_order

pytestmark = pytest.mark.lab


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    with lab_cluster(racks=1, hosts=3) as standing:
        yield standing


@pytest.fixture
def names(lab: Lab) -> list[str]:
    found = sorted(lab.names)
    random.Random(2).shuffle(found)
    return found


@pytest.fixture
def arguments(lab: Lab, names: list[str], tmp_path: Path) -> list[str]:
    hosts = [Host(name, lab.truth["addresses"][name]) for name in names]
    order = write_order(tmp_path / "order.json", hosts)
    return ["run", str(order), "-F", str(lab.ssh_config)]


def test_every_rank_runs_where_the_order_says(
    arguments: list[str], names: list[str], capfd: pytest.CaptureFixture[str]
) -> None:
    script = 'echo "$RANK $LOCAL_RANK of $WORLD_SIZE on $(uname -n) $GLOO_SOCKET_IFNAME $HERE"'
    more = ["--nproc-per-host", "2", "--env", "HERE=a b", "--", "sh", "-c", script]
    assert run([*arguments, *more]) == 0
    shown = capfd.readouterr()
    assert sorted(shown.out.splitlines()) == [
        f"[{rank}] {rank} {rank % 2} of 6 on {names[rank // 2]} eth0 a b" for rank in range(6)
    ]


def test_no_process_on_the_hosts_or_here_shows_a_secret(
    arguments: list[str], capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTHER_TOKEN", "also-s3cret")
    # The hosts of the lab share this machine's processes, plink's own among them.
    look = (
        "cat /proc/[0-9]*/cmdline 2>/dev/null | tr '\\0' ' ' | grep -c -e 's[3]cret'; "
        'echo "$TOKEN $OTHER_TOKEN"'
    )
    more = ["--env", "TOKEN=s3cret", "--env", "OTHER_TOKEN", "--", "sh", "-c", look]
    assert run([*arguments, *more]) == 0
    lines = capfd.readouterr().out.splitlines()
    assert sorted(lines) == sorted(
        f"[{rank}] {text}" for rank in range(3) for text in ("0", "s3cret also-s3cret")
    )


def test_ranks_of_a_host_may_be_apart_and_hosts_without_ranks_are_left_alone(
    lab: Lab, names: list[str], arguments: list[str], capfd: pytest.CaptureFixture[str]
) -> None:
    address = lab.truth["addresses"]
    hosts = [Host(names[2], address[names[2]], slots=2), Host(names[0], address[names[0]])]
    write_order(Path(arguments[1]), hosts, [0, 1, 0])
    script = 'echo "$RANK $LOCAL_RANK/$LOCAL_WORLD_SIZE of $WORLD_SIZE on $(uname -n)"'
    assert run([*arguments, "--", "sh", "-c", script]) == 0
    assert sorted(capfd.readouterr().out.splitlines()) == [
        f"[0] 0 0/2 of 3 on {names[2]}",
        f"[1] 1 0/1 of 3 on {names[0]}",
        f"[2] 2 1/2 of 3 on {names[2]}",
    ]
    assert run([*arguments, "--nproc-per-host", "2", "--", "true"]) == 2
    assert "--nproc-per-host needs an order in which the ranks" in capfd.readouterr().err


def test_one_that_fails_ends_all_and_its_status_is_the_jobs(
    arguments: list[str], names: list[str], capfd: pytest.CaptureFixture[str]
) -> None:
    started = time.monotonic()
    script = 'test "$RANK" != 1 || exit 42; echo waiting; sleep 600'
    assert run([*arguments, "--", "sh", "-c", script]) == 42
    assert time.monotonic() - started < 60
    assert f"rank 1 on {names[1]} ended with exit status 42" in capfd.readouterr().err


def test_ctrl_c_ends_every_rank(arguments: list[str], tmp_path: Path) -> None:
    script = f"echo $$ > {tmp_path}/pid.$RANK; echo up; sleep 600"
    process = subprocess.Popen(
        [sys.executable, "-m", "plink", *arguments, "--", "sh", "-c", script],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    try:
        assert process.stdout is not None
        assert {process.stdout.readline() for _ in range(3)} == {f"[{k}] up\n" for k in range(3)}
        process.send_signal(signal.SIGINT)
        assert process.wait(30) == 130
    finally:
        process.kill()
        process.communicate()
    # The hosts of the lab share this machine's processes.
    pids = [int(path.read_text()) for path in tmp_path.glob("pid.*")]
    assert len(pids) == 3
    assert not [pid for pid in pids if Path(f"/proc/{pid}").exists()]


def test_wrong_variables(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run([*arguments, "--env", "1=2", "--", "true"]) == 2
    assert "--env '1' is not the name of an environment variable" in capsys.readouterr().err
