"""The remote command, run here: it hands on, and ends with its input."""

from __future__ import annotations

import ast
import json
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from plink.base.errors import WrongUseError
from plink.cli import run_
from plink.cli.run_ import _parse_variables
from plink.deploy.run import EndedRank, rank_command, rank_environments, rank_settings
from plink.formats.hosts import Host
from plink.formats.structs import encode

SHELLS = [shell for shell in (["dash"], ["bash"], ["busybox", "sh"]) if shutil.which(shell[0])]


def start(
    folder: Path | str, environment: dict[str, str], *words: str, shell: Sequence[str] = ("sh",)
) -> subprocess.Popen[str]:
    process = subprocess.Popen(
        [*shell, "-c", rank_command(str(folder), words)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdin is not None
    process.stdin.write(rank_settings(environment))
    process.stdin.flush()
    return process


def is_there(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def wait_until_gone(process: int) -> None:
    until = time.monotonic() + 10
    while is_there(process):
        assert time.monotonic() < until
        time.sleep(0.02)


def test_a_required_folder_that_is_missing_fails_the_rank(tmp_path: Path) -> None:
    command = rank_command(f"{tmp_path}/none", ["echo", "ran"], is_required=True)
    done = subprocess.run(
        ["sh", "-c", command], input=rank_settings({}), capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (1, f"there is no folder {tmp_path}/none\n")


def test_environment_folder_words_output_and_status(tmp_path: Path) -> None:
    script = 'pwd; echo "$RANK" "$1"; echo wrong >&2; exit 7'
    with start(tmp_path, {"RANK": "3 $(id)"}, "sh", "-c", script, "sh", "it's *") as process:
        assert process.stdout is not None
        assert process.stdout.read() == f"{tmp_path}\n3 $(id) it's *\nwrong\n"
        assert process.wait(10) == 7


def test_a_folder_that_is_not_there() -> None:
    with start("/nowhere", {}, "pwd") as process:
        assert process.stdout is not None
        assert process.stdout.read() == f"{Path.cwd()}\n"


@pytest.mark.parametrize("trap", ["", "trap '' TERM; "])
def test_all_of_the_job_ends_with_its_input(tmp_path: Path, trap: str) -> None:
    script = f"{trap}sleep 600 & echo $! $$; wait"
    process = start(tmp_path, {}, "sh", "-c", script)
    assert process.stdin is not None
    assert process.stdout is not None
    child, leader = map(int, process.stdout.readline().split())
    assert is_there(child)
    process.stdin.close()
    assert process.wait(15) != 0
    wait_until_gone(child)
    wait_until_gone(leader)
    process.stdout.close()
    assert process.stderr is not None
    process.stderr.close()


def test_what_the_leader_leaves_behind_ends(tmp_path: Path) -> None:
    with start(tmp_path, {}, "sh", "-c", "sleep 600 >/dev/null 2>&1 & echo $!") as process:
        assert process.stdout is not None
        child = int(process.stdout.readline())
        assert process.wait(10) == 0
    wait_until_gone(child)


VALUES = {
    "TOKEN": "s3cret-word",
    "ODD": 'it\'s $(id) `id` \\ "x" *\n\n\tend\n',
    "EMPTY": "",
    "PATH": "/usr/bin:/bin:/own",
    "plain": "é=1;2&",
    # What a script might call its own.
    "env": "prod",
    "newline": "none",
    "settings": "kept",
    "line": "kept",
}


@pytest.mark.parametrize("shell", SHELLS, ids=" ".join)
def test_every_shell_hands_the_environment_on(tmp_path: Path, shell: Sequence[str]) -> None:
    words = (sys.executable, "-c", "import os; print(repr(dict(os.environ)))")
    with start(tmp_path, VALUES, *words, shell=shell) as process:
        assert process.stdout is not None
        found = ast.literal_eval(process.stdout.read())
        assert process.wait(10) == 0
    assert {name: found[name] for name in VALUES} == VALUES
    assert not {"missing", "folder", "job", "watcher"} & set(found)


@pytest.mark.parametrize("shell", SHELLS, ids=" ".join)
def test_no_command_line_on_the_host_shows_the_environment(
    tmp_path: Path, shell: Sequence[str]
) -> None:
    # The program looks at everything that runs, its own parents among them, as anybody could.
    look = "echo up; cat /proc/[0-9]*/cmdline 2>/dev/null | tr '\\0' ' '; echo; echo $TOKEN"
    with start(tmp_path, VALUES, "sh", "-c", look, shell=shell) as process:
        assert process.stdout is not None
        *seen, token = process.stdout.read().rstrip("\n").split("\n")
        assert process.wait(10) == 0
    assert token == VALUES["TOKEN"]
    assert "echo $TOKEN" in "\n".join(seen)
    assert not [line for line in seen if VALUES["TOKEN"] in line]


def test_nothing_runs_before_the_whole_environment_is_there(tmp_path: Path) -> None:
    command = rank_command(str(tmp_path), ["touch", "ran"])
    cut = rank_settings(VALUES).rstrip("\n") + "\n"
    done = subprocess.run(["sh", "-c", command], input=cut, text=True, check=False)
    assert done.returncode == 1
    assert not (tmp_path / "ran").exists()


def test_a_variable_may_be_taken_from_here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOKEN", "a=b c")
    assert _parse_variables(["TOKEN", "B=", "C=x=y"]) == {"TOKEN": "a=b c", "B": "", "C": "x=y"}
    with pytest.raises(WrongUseError, match="--env NOWHERE: the variable is not set here"):
        _parse_variables(["NOWHERE"])
    with pytest.raises(WrongUseError, match="--env '1' is not the name of an environment variable"):
        _parse_variables(["1=s3cret"])


def test_environments() -> None:
    hosts = [Host("b", "10.0.0.2", slots=2), Host("a", "10.0.0.1")]
    found = rank_environments(hosts, {"b": "eth1", "a": ""}, 12345, {"RANK": "x", "MORE": "a=b"})
    common = {"WORLD_SIZE": "3", "MASTER_ADDR": "10.0.0.2", "MASTER_PORT": "12345"}
    common |= {"RANK": "x", "MORE": "a=b"}
    on_b = {"GLOO_SOCKET_IFNAME": "eth1", "NCCL_SOCKET_IFNAME": "=eth1", "LOCAL_WORLD_SIZE": "2"}
    assert found == [
        {**common, **on_b, "LOCAL_RANK": "0"},
        {**common, **on_b, "LOCAL_RANK": "1"},
        {**common, "LOCAL_RANK": "0", "LOCAL_WORLD_SIZE": "1"},
    ]
    with pytest.raises(WrongUseError, match="plink run cannot take"):
        rank_environments([Host("a b", "10.0.0.1")], {"a b": "eth0"}, 1, {})


def test_lines_and_the_end_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    run_.show_line(3, 'loss "0.41"\x1b[2J', as_json=True)
    assert json.loads(capsys.readouterr().out) == {"rank": 3, "line": 'loss "0.41"\x1b[2J'}
    assert encode(run_.describe_end(None, 0)) == {"status": 0}
    failed = EndedRank(1, "n02", 7, None)
    assert encode(run_.describe_end(failed, 7)) == {
        "status": 7,
        "rank": 1,
        "host": "n02",
        "reason": None,
    }
