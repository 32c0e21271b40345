"""A result that cannot be written is an error that says why, and no half file is left."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from plink.base.replacing import replace
from plink.cli import run
from plink.formats import cluster
from show.racks import racks

PROGRAM = Path(__file__).with_name("full_disk_program.py")
TESTS = Path(__file__).resolve().parents[1]

# Every kind of file that is written without hosts; probe, bench and check write as these do.
LINES = [
    ["import", "m.csv"],
    ["group", "c.json", "--k", "2", "--method", "linkage"],
    ["order", "c.json", "--time-limit", ".02"],
    ["order", "o.json", "--format", "openmpi"],
    ["order", "o.json", "--format", "torchrun"],
    ["plan", "c.json", "--kind", "ring"],
    ["report", "c.json"],
    ["export", "c.json"],
]
NAMES = ["result", "result.json.gz", "old"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("full")
    source = str(folder / "c.json")
    cluster.write_cluster(source, replace(racks(2, 3).cluster, unreachable=()))
    assert run(["export", source, "-o", str(folder / "m.csv")]) == 0
    assert run(["order", source, "--time-limit", ".02", "-o", str(folder / "o.json")]) == 0
    (folder / "disk").mkdir()
    return folder


def test_no_verb_leaves_half_a_file_on_a_full_disk(folder: Path) -> None:
    unshare = shutil.which("unshare")
    if unshare is None:
        pytest.skip("needs unshare")
    disk = folder / "disk"
    paths = [str(disk / name) for name in NAMES]
    lines = [[*line, "-o", paths[number % 3]] for number, line in enumerate(LINES)]
    modules = os.pathsep.join([str(TESTS), str(TESTS.parent / "scripts")])
    mount = f'mount -t tmpfs -o size=64k tmpfs {disk} || exit 77; exec "$@"'
    done = subprocess.run(
        [unshare, "-rm", "sh", "-c", mount, "sh", sys.executable, PROGRAM, disk, json.dumps(lines)],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": modules},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode == 77 or done.stderr.startswith("unshare"):
        pytest.skip(f"cannot mount here: {done.stderr.strip()}")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    for line, (code, said) in zip(lines, found["done"], strict=True):
        last = said.splitlines()[-1]
        assert (code, last) == (
            1,
            f"error: {line[-1]}: cannot be written: No space left on device",
        ), (line, said)
    assert found["disk"].keys() == {"old", "filler"}
    assert found["disk"]["old"] == "old"


@pytest.mark.parametrize("line", LINES, ids=" ".join)
def test_a_full_device_is_an_error(
    folder: Path,
    line: list[str],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(folder)
    assert run([*line, "-o", "/dev/full"]) == 1
    last = capsys.readouterr().err.splitlines()[-1]
    assert last == "error: /dev/full: cannot be written: No space left on device"
