"""What a user sees of the scripts' long commands: signs of life, and no more."""

from __future__ import annotations

import contextlib
import os
import pty
import re
import subprocess
import time
from pathlib import Path

LIB = Path(__file__).resolve().parents[2] / "scripts" / "lib"
START = f". {LIB}/say.sh; . {LIB}/quietly.sh; SECONDS_A_LINE=1\n"
WORKS = "run_quietly working bash -c 'echo; echo \"  step one\"; sleep 3.5; echo no more'"


def test_off_a_terminal_there_is_a_line_every_few_seconds() -> None:
    done = subprocess.run(
        ["bash", "-euc", START + WORKS], check=True, capture_output=True, text=True
    )
    first, *lines, last = done.stderr.splitlines()
    assert first == "working"
    assert lines
    assert all(re.fullmatch(r"  \d s  (step one|no more)", line) for line in lines)
    assert re.fullmatch(r"  done in \d s", last)
    assert done.stdout == ""


def test_on_a_terminal_one_line_changes() -> None:
    ours, theirs = pty.openpty()
    environment = {**os.environ, "COLUMNS": "12"}
    with subprocess.Popen(
        ["bash", "-euc", START + WORKS], stderr=theirs, stdout=theirs, env=environment
    ) as shell:
        shell.wait()
    os.close(theirs)
    shown = b""
    # A read gives what has come so far, and fails at the end.
    with contextlib.suppress(OSError):
        while read := os.read(ours, 65536):
            shown += read
    os.close(ours)
    # What is cut at 12 columns does not wrap.
    assert re.search(rb"\r\x1b\[K  \d s  step\r\x1b\[K", shown)
    assert shown.count(b"\n") == 2


def test_a_quick_command_is_one_line_and_a_failed_one_shows_its_output() -> None:
    # A second may begin while a quick command runs: it is not told of the time below a minute.
    patient = START.replace("SECONDS_A_LINE=1", "SECONDS_A_LINE=60")
    lines = "run_quietly quick true\nrun_quietly failing bash -c 'echo why >&2; exit 7' || echo $?"
    done = subprocess.run(
        ["bash", "-euc", patient + lines], check=True, capture_output=True, text=True
    )
    assert done.stderr == "quick\nfailing\nwhy\n"
    assert done.stdout == "7\n"


def test_nothing_is_told_by_a_script_that_is_no_more(tmp_path: Path) -> None:
    with subprocess.Popen(
        ["bash", "-euc", START + "run_quietly working sleep 3"],
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "TMPDIR": str(tmp_path)},
    ) as shell:
        time.sleep(0.5)
        shell.kill()
        shell.wait()
        assert shell.stderr is not None
        told = shell.stderr.read()
    assert "3 s" not in told
