"""Standard output that takes nothing, and outputs that are inputs."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from plink.base.replacing import replace
from plink.cli import run
from plink.formats import cluster
from show.racks import racks

PLINK = [sys.executable, "-m", "plink"]


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("files")
    source = str(folder / "c.json")
    cluster.write_cluster(source, replace(racks(4, 4).cluster, unreachable=()))
    assert run(["export", source, "-o", str(folder / "m.csv")]) == 0
    order = ["order", source, "--time-limit", ".02", "-o", str(folder / "o.json")]
    assert run(order) == 0
    return folder


@pytest.fixture
def folder(files: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    shutil.copytree(files, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path


# What click prints, what Rich does, JSON, and the content of a file.
TO_STDOUT = [["--help"], ["show", "c.json"], ["show", "o.json", "--json"], ["export", "c.json"]]


@pytest.mark.parametrize("arguments", TO_STDOUT, ids=" ".join)
def test_a_full_disk_is_one_sentence(folder: Path, arguments: list[str]) -> None:
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            [*PLINK, *arguments], cwd=folder, stdout=full, stderr=subprocess.PIPE, check=False
        )
    assert done.returncode == 1
    assert done.stderr.decode().splitlines()[-1] == (
        "error: standard output: cannot be written: No space left on device"
    )
    assert b"Traceback" not in done.stderr


def test_more_than_a_buffer_on_a_full_disk(folder: Path) -> None:
    cluster.write_cluster("big.json", racks(10, 10).cluster)
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            [*PLINK, "export", "big.json"], stdout=full, stderr=subprocess.PIPE, check=False
        )
    assert done.returncode == 1
    assert done.stderr == b"error: standard output: cannot be written: No space left on device\n"


@pytest.mark.parametrize("arguments", TO_STDOUT[1:], ids=" ".join)
def test_a_closed_output_is_one_sentence(folder: Path, arguments: list[str]) -> None:
    done = subprocess.run(
        ["sh", "-c", 'exec "$@" >&-', "sh", *PLINK, *arguments],
        cwd=folder,
        stderr=subprocess.PIPE,
        check=False,
    )
    assert done.returncode == 1
    assert done.stderr.decode().splitlines()[-1].startswith("error: standard output: is closed")


@pytest.mark.parametrize(
    ("command", "file", "output"),
    [
        ("order", "c.json", "c.json"),
        ("order", "c.json", "./c.json"),
        ("order", "c.json", "link.json"),
        ("order", "o.json", "o.json"),
        ("export", "c.json", "c.json"),
        ("import", "m.csv", "m.csv"),
    ],
)
def test_no_command_overwrites_its_input(
    folder: Path, capsys: pytest.CaptureFixture[str], command: str, file: str, output: str
) -> None:
    Path("link.json").symlink_to("c.json")
    before = Path(file).read_bytes()
    capsys.readouterr()
    assert run([command, file, "-o", output]) == 2
    assert capsys.readouterr() == (
        "",
        f"error: {output}: is the output, but also an input\nhint: write to another file\n",
    )
    assert Path(file).read_bytes() == before


def test_an_older_result_is_replaced(folder: Path) -> None:
    assert run(["order", "c.json", "--time-limit", ".02", "-o", "o.json"]) == 0
    assert run(["export", "c.json", "-o", "m.csv"]) == 0


@pytest.mark.parametrize("command", ["order", "show", "export", "import"])
def test_a_file_without_a_name_is_quoted(
    folder: Path, capsys: pytest.CaptureFixture[str], command: str
) -> None:
    capsys.readouterr()
    assert run([command, ""]) == 2
    assert capsys.readouterr().err.startswith("error: '': ")


@pytest.mark.parametrize("command", ["order", "export", "import"])
def test_an_output_without_a_name_is_refused(
    folder: Path, capsys: pytest.CaptureFixture[str], command: str
) -> None:
    file = "m.csv" if command == "import" else "c.json"
    capsys.readouterr()
    assert run([command, file, "-o", ""]) == 2
    assert capsys.readouterr().err == "error: the name of the file to write is empty\n"
