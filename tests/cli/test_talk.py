"""What is said on standard error never fails a result, whatever standard error takes."""

from __future__ import annotations

import functools
import json
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from autotune.logs import write_log
from plink.base.replacing import replace
from plink.cli import COMMANDS
from plink.formats import cluster
from show.racks import racks
from timeline.files import write_timelines

PROGRAM = Path(__file__).with_name("talk_program.py")

KINDS = ("usual", "full", "closed", "gone")
Outcome = tuple[list[object], dict[str, int]]

# Nobody listens there.
UNREACHABLE = ["127.0.0.1:1", "127.0.0.2:1"]

# Every verb, and more than one of each kind of result; those that need hosts fail as always.
LINES = [
    ["import", "m.csv", "-o", "OUT/imported.json"],
    ["doctor", "c.json"],
    ["show", "c.json"],
    ["show", "tuned.log", "--json"],
    ["group", "c.json", "--k", "2", "--method", "linkage", "-o", "OUT/grouped.json"],
    ["order", "c.json", "--time-limit", ".05", "-o", "OUT/order.json"],
    ["order", "o.json", "--format", "openmpi", "-o", "OUT/hostfile"],
    ["plan", "c.json", "--kind", "ring", "-o", "OUT/plan.json"],
    ["predict", "c.json", "--size", "1MB"],
    ["report", "c.json", "o.json", "-o", "OUT/report.html"],
    ["timeline", "rank0.json", "-o", "OUT/trace.json"],
    ["export", "c.json", "-o", "OUT/matrix.csv.gz"],
    ["autotune", "replay", "tuned.log"],
    ["autotune", "serve", "p.json", "--listen", "nowhere"],
    ["probe", "hosts.txt", "-o", "OUT/probed.json", "--timeout", "1"],
    ["check", "c.json"],
    ["verify", "o.json", "--launcher", "none"],
    ["run", "unreached.json", "--", "true"],
    ["bench", "c.json", "--client", "none"],
    ["fit", "c.json", "--client", "gloo"],
    ["simulate", "c.json", "--algo", "ring", "--trace", "goal", "-o", "OUT/job.goal"],
    ["slurm-order"],
    ["renumber", "--order", "absent.json", "--", "true"],
    ["kube", "metrics", "c.json", "-o", "OUT/plink.prom"],
    ["hub", "cost"],
    ["hub", "bounds", "--model", "resnet50", "--workers", "8"],
    ["completion", "bash"],
    ["agent", "--join", "nowhere", "--secret-file", "absent"],
    ["schema", "cluster"],
    ["nonsense"],
    ["show", "--nonsense"],
    ["show", "absent.json"],
    [],
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("talk")
    found = replace(racks(2, 3).cluster, unreachable=())
    cluster.write_cluster(str(folder / "c.json"), found)
    (folder / "hosts.txt").write_text("\n".join(UNREACHABLE) + "\n")
    write_log(folder / "tuned.log")
    write_timelines(folder, 1)
    lines = [
        ["export", "c.json", "-o", "m.csv"],
        ["order", "c.json", "--time-limit", ".05", "-o", "o.json"],
        ["plan", "c.json", "-o", "p.json"],
    ]
    assert run_lines(folder, "usual", lines)[0] == [0, 0, 0]
    order = json.loads((folder / "o.json").read_text())
    for host in order["hosts"]:
        host.update(ssh_address="127.0.0.1", port=1)
    (folder / "unreached.json").write_text(json.dumps(order))
    return folder


def run_lines(folder: Path, kind: str, lines: Sequence[Sequence[str]]) -> Outcome:
    """Run command lines with one kind of standard error.

    Returns:
        Their exit codes, and the names and sizes of the files that they wrote.
    """
    (folder / kind).mkdir(exist_ok=True)
    codes = folder / f"{kind}.codes"
    subprocess.run(
        [sys.executable, PROGRAM, kind, json.dumps(lines), codes],
        cwd=folder,
        stdout=subprocess.DEVNULL,
        check=True,
    )
    sizes = {file.name: file.stat().st_size for file in (folder / kind).iterdir()}
    return json.loads(codes.read_text()), sizes


@pytest.fixture(scope="module")
def outcome(folder: Path) -> Callable[[str], Outcome]:
    """Return a function that runs `LINES` with a kind of standard error, once for each kind."""
    return functools.cache(lambda kind: run_lines(folder, kind, LINES))


def test_every_verb_is_tried(outcome: Callable[[str], Outcome]) -> None:
    assert {line[0] for line in LINES if line} >= set(COMMANDS)
    codes, sizes = outcome("usual")
    assert codes.count(0) >= 11, codes
    assert all(isinstance(code, int) for code in codes), codes
    assert len(sizes) == sum("OUT" in word for line in LINES for word in line) - 1


@pytest.mark.parametrize("kind", KINDS[1:])
def test_talk_fails_no_result(outcome: Callable[[str], Outcome], kind: str) -> None:
    usual_codes, usual_sizes = outcome("usual")
    codes, sizes = outcome(kind)
    assert codes == usual_codes
    assert sizes.keys() == usual_sizes.keys()
    assert all(sizes.values())


def test_a_file_does_not_become_the_closed_standard_error(folder: Path) -> None:
    """The next file that is opened must not get descriptor 2, where native code may print."""
    show = "import os, sys; from plink.cli import main; sys.argv[1:] = ['--version']\n"
    check = "try: main()\nfinally: print(os.path.realpath('/proc/self/fd/2'))"
    done = subprocess.run(
        ["sh", "-c", 'exec "$@" 2>&-', "sh", sys.executable, "-c", show + check],
        cwd=folder,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.splitlines()[-1] == "/dev/null"


def test_a_closed_standard_input_is_an_error_with_a_hint(folder: Path) -> None:
    done = subprocess.run(
        ["sh", "-c", 'exec "$@" <&-', "sh", sys.executable, "-m", "plink", "show", "-"],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    error, hint = done.stderr.splitlines()
    assert error.startswith("error: standard input: ")
    assert hint.startswith("hint: ")
