"""Real shells complete plink's command lines, and asking plink for that is quick."""

from __future__ import annotations

import json
import os
import pty
import select
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import click
import pytest
from click.shell_completion import ShellComplete

from plink.cli import COMMANDS, cli
from plink.cli.completion import add_completion
from support.needs import declared
from support.plink_command import plink_here

LONGEST_S = 30
# What starts a shell that knows nothing but plink, and sources the script in the file $SCRIPT.
SHELLS = {
    "bash": (["--norc", "--noprofile", "-i"], "source $SCRIPT\n"),
    "zsh": (["-f", "-i"], "autoload -U compinit; compinit -u -D; source $SCRIPT\n"),
}


def completed(*words: str, incomplete: str = "") -> list[str]:
    """What plink answers a shell: names, or `<file>` and `<dir>` where the shell is to look."""
    found = ShellComplete(cli, {}, "plink", "_PLINK_COMPLETE").get_completions(
        list(words), incomplete
    )
    return [item.value if item.type == "plain" else f"<{item.type}>" for item in found]


@pytest.mark.parametrize(
    ("words", "incomplete", "expected"),
    [
        ([], "or", ["order"]),
        ([], "", list(COMMANDS)),
        ([], "--ver", ["--version"]),
        (["order"], "--al", ["--algo"]),
        (["order"], "", ["<file>"]),
        (["order", "c.json", "--engine"], "", ["cp-sat", "z3"]),
        (["order", "c.json", "--algo"], "openmpi-r", [
            "openmpi-recursive-doubling", "openmpi-ring", "openmpi-rabenseifner",
        ]),
        (["order", "c.json", "--format"], "slurm-b", ["slurm-block", "slurm-block-yaml"]),
        (["verify", "o.json", "--launcher"], "nc", ["nccl"]),
        (["bench", "c.json", "--client"], "gloo,m", ["gloo,mpich"]),
        (["probe", "--ssh-config"], "", ["<file>"]),
        (["probe", "hosts.txt", "--via"], "", []),
        (["plan", "c.json", "--certificates"], "", ["<dir>"]),
        (["run", "o.json", "--"], "tr", ["<file>"]),
        (["autotune"], "s", ["serve"]),
        (["autotune", "serve", "p.json", "--tls"], "", ["<dir>"]),
        (["completion"], "f", ["fish"]),
        (["nonsense"], "sh", ["show"]),
    ],
)  # fmt: skip
def test_what_may_stand_there(words: list[str], incomplete: str, expected: list[str]) -> None:
    assert completed(*words, incomplete=incomplete) == expected


def test_every_text_that_is_a_file_is_completed_as_one() -> None:
    context = click.Context(cli, resilient_parsing=True)
    for name in COMMANDS:
        command = cli.get_command(context, name)
        assert command is not None
        for verb in getattr(add_completion(command), "commands", {name: command}).values():
            for option in verb.params:
                if isinstance(option, click.Option) and "FILE" in (option.metavar or ""):
                    (item,) = option.shell_complete(click.Context(verb), "")
                    assert item.type == "file", (name, option.opts)


def test_completing_imports_nothing_slow() -> None:
    program = """
import sys
from click.shell_completion import ShellComplete
from plink.cli import COMMANDS, cli
complete = ShellComplete(cli, {}, "plink", "_PLINK_COMPLETE").get_completions
complete([], "")
for name in COMMANDS:
    assert "--help" in {item.value for item in complete([name], "--")}, name
slow = {"numpy", "scipy", "rich", "paramiko", "torch", "orjson", "msgspec", "ssl"}
print(*sorted(slow & set(sys.modules)))
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout == "\n"


def test_the_script_as_json() -> None:
    done = plink_here("completion", "fish", "--json")
    found = json.loads(done.stdout)
    assert found["shell"] == "fish"
    assert found["script"] == plink_here("completion", "fish").stdout


def test_another_shell_is_one_sentence() -> None:
    done = plink_here("completion", "csh")
    assert (done.code, done.stdout) == (2, "")
    assert "'csh' is not one of 'bash', 'zsh', 'fish'" in done.stderr


def test_what_was_typed_is_named_as_it_was() -> None:
    assert "'c  sh' is not one of" in plink_here("completion", "c  sh").stderr


def test_no_shell_is_one_sentence_with_the_choices() -> None:
    done = plink_here("completion")
    assert (done.code, done.stdout) == (2, "")
    assert done.stderr.splitlines()[0].endswith("one of: bash, zsh, fish")


@pytest.fixture
def script(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    declared("shells")
    shell = request.node.callspec.params["shell"] if hasattr(request.node, "callspec") else "fish"
    if shutil.which(shell) is None:
        pytest.skip(f"needs {shell}")
    (tmp_path / "cluster.json").touch()
    (tmp_path / "certificates").mkdir()
    file = tmp_path / ".script"
    file.write_text(plink_here("completion", shell).stdout)
    return file


def environment(script: Path) -> dict[str, str]:
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    plain = {"TERM": "dumb", "PS1": "$ ", "HISTFILE": "", "LC_ALL": "C.UTF-8"}
    return {**os.environ, **plain, "PATH": path, "HOME": str(script.parent), "SCRIPT": str(script)}


@pytest.mark.needs("shells")
@pytest.mark.parametrize("shell", SHELLS)
def test_tab_completes_in_a_shell(shell: str, script: Path) -> None:
    options, start = SHELLS[shell]
    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(script.parent)
        os.execvpe(shell, [shell, *options], environment(script))
    try:
        type_and_await(terminal, start + "echo re''ady\n", "ready")
        type_and_await(terminal, "plink or\t", "plink order ")
        type_and_await(terminal, "cl\t", "cluster.json ")
        type_and_await(terminal, "--objective con\t", "--objective contention ")
        type_and_await(terminal, "\x15plink plan cluster.json --certificates c\t", "certificates/")
    finally:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        os.close(terminal)


def type_and_await(terminal: int, keys: str, expected: str) -> None:
    os.write(terminal, keys.encode())
    shown, end = "", time.monotonic() + LONGEST_S
    while expected not in shown:
        if select.select([terminal], [], [], max(0.0, end - time.monotonic()))[0]:
            shown += os.read(terminal, 65536).decode(errors="replace")
        assert time.monotonic() < end, f"{expected!r} is not in {shown!r}"


@pytest.mark.needs("shells")
@pytest.mark.parametrize("shell", ["fish"])
def test_fish_completes(shell: str, script: Path) -> None:
    lines = ["plink or", "plink order cl", "plink plan cluster.json --certificates c"]
    asked = "; ".join(f"complete -C '{line}'" for line in lines)
    done = subprocess.run(
        [shell, "--no-config", "-c", f"source $SCRIPT; {asked}"],
        cwd=script.parent,
        env=environment(script),
        capture_output=True,
        text=True,
        check=True,
        timeout=LONGEST_S,
    )
    found = [line.partition("\t")[0] for line in done.stdout.splitlines()]
    assert found == ["order", "cluster.json", "certificates/"]
