"""Ctrl-C and SIGTERM at any moment of a short run: no traceback, and the documented code."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

import plink
from plink.files import cluster
from show.racks import racks

EXIT_INTERRUPTED = 130
PACKAGE = Path(plink.__file__).resolve().parent
STARTS = {
    "command": [
        "-c",
        "import sys; sys.argv[0] = 'plink'; from plink.__main__ import main; sys.exit(main())",
    ],
    "module": ["-m", "plink"],
}
LINES = [
    ["show", "c.json"],
    ["plan", "c.json", "-o", "p.json"],
    ["probe", "hosts.txt", "-o", "probed.json"],
    ["import", "m.csv"],
    ["--help"],
]
MOMENTS = 4


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("interrupted")
    cluster.write(str(folder / "c.json"), replace(racks(2, 3).cluster, unreachable=()))
    (folder / "m.csv").write_text("us,a,b\na,0,1\nb,1,0\n")
    (folder / "hosts.txt").write_text("127.0.0.1:1\n127.0.0.2:1\n")
    return folder


@pytest.mark.parametrize("line", LINES, ids=" ".join)
def test_no_moment_shows_a_traceback(folder: Path, line: list[str]) -> None:
    chosen = random.Random(" ".join(line))
    for number in range(MOMENTS):
        begin = STARTS["module" if number % 2 else "command"]
        process = subprocess.Popen(
            [sys.executable, *begin, *line],
            cwd=folder,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        time.sleep(chosen.uniform(0.03, 0.5))
        sent = signal.SIGTERM if number == 0 else signal.SIGINT
        process.send_signal(sent)
        said = process.communicate(timeout=60)[1]
        if str(PACKAGE) not in said and ("Traceback" in said or process.returncode == -sent):
            continue  # Python itself had not begun plink.
        assert "Traceback" not in said, said
        assert "ignored" not in said, said
        if process.returncode != EXIT_INTERRUPTED:
            assert process.returncode in (0, 1), said  # it was faster, or probed nobody
        else:
            assert said.splitlines()[-1] == "interrupted"


def test_an_ignored_interrupt_stays_ignored(folder: Path) -> None:
    shell = "trap '' INT HUP; \"$@\" & sleep 0.3; kill -INT $!; kill -HUP $!; wait $!"
    done = subprocess.run(
        ["sh", "-c", shell, "sh", sys.executable, "-m", "plink", "show", "c.json"],
        cwd=folder,
        capture_output=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, b"")


def test_interrupts_end_a_process_before_its_command_is_imported() -> None:
    """Whatever the moment: a handler that raises would show where it was."""
    program = (
        "import os, signal, sys\n"
        "class Finder:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name == 'click': os.kill(os.getpid(), signal.SIGINT)\n"
        "sys.meta_path.insert(0, Finder())\n"
        "from plink.__main__ import main\n"
        "main()\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (EXIT_INTERRUPTED, b"interrupted\n")


def test_an_interrupt_in_a_finaliser_is_not_lost() -> None:
    program = (
        "import os, signal, time\n"
        "from plink.base.lifetime import end_when_interrupted, raise_when_interrupted\n"
        "class Thing:\n"
        "    def __del__(self): os.kill(os.getpid(), signal.SIGINT); time.sleep(0)\n"
        "end_when_interrupted()\n"
        "raise_when_interrupted()\n"
        "try:\n"
        "    Thing()\n"
        "    time.sleep(9)\n"
        "except KeyboardInterrupt:\n"
        "    print('heard')\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"heard\n", b"")
