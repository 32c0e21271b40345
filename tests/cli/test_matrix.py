"""`plink import` and `plink export`, as a user runs them."""

import gzip
import io
import json
import sys
from pathlib import Path

import pytest

from plink.cli import run

CSV = "us,a,b,c\na,0,22.1,50\nb,22.3,0,\nc,51,0.025,0\n"


@pytest.fixture
def matrix(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "matrix.csv").write_text(CSV)
    return tmp_path / "matrix.csv"


def test_there_and_back(matrix: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["import", "matrix.csv", "-o", "cluster.json"]) == 0
    assert run(["export", "cluster.json", "-o", "again.csv"]) == 0
    assert capsys.readouterr() == ("", "")
    assert Path("again.csv").read_text() == CSV


def test_through_pipes(
    matrix: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(CSV.encode())))
    assert run(["import", "-"]) == 0
    cluster = capsys.readouterr().out
    assert json.loads(cluster)["format"] == "plink.cluster"
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(cluster.encode())))
    assert run(["export", "-", "--unit", "ns"]) == 0
    assert capsys.readouterr().out.startswith("ns,a,b,c\na,0,22100,50000\n")


def test_a_packed_pipe(
    matrix: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    packed = gzip.compress(CSV.encode())
    for content, code in ((packed, 0), (packed[:-9], 2)):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))
        assert run(["import", "-"]) == code
    shown = capsys.readouterr()
    assert json.loads(shown.out)["format"] == "plink.cluster"
    assert shown.err.startswith("error: standard input: is no complete gzip file")


@pytest.mark.parametrize("unit", ["us", "µs"])
def test_the_spellings_of_the_unit(
    matrix: Path, capsys: pytest.CaptureFixture[str], unit: str
) -> None:
    assert run(["import", "matrix.csv", "-o", "c.json"]) == 0
    assert run(["export", "c.json", "--unit", unit]) == 0
    assert capsys.readouterr().out == CSV


def test_packed(matrix: Path) -> None:
    assert run(["import", "matrix.csv", "-o", "cluster.json.gz"]) == 0
    assert run(["export", "cluster.json.gz", "-o", "matrix.csv.gz"]) == 0
    assert run(["import", "matrix.csv.gz", "-o", "again.json"]) == 0
    assert Path("cluster.json.gz").read_bytes()[:2] == b"\x1f\x8b"


def test_the_unit_and_the_percentile_are_kept(matrix: Path) -> None:
    matrix.write_text(CSV.replace("us", "", 1))
    assert run(["import", "matrix.csv", "--unit", "ms", "--percentile", "50", "-o", "c.json"]) == 0
    rtt = json.loads(Path("c.json").read_text())["rtt"]
    assert rtt["options"] == {"unit": "ms"}
    assert rtt["reading"] == 50
    assert rtt["rtt_us"]["50"][0] == [None, 22100, 50000]


def test_a_note_about_the_diagonal(matrix: Path, capsys: pytest.CaptureFixture[str]) -> None:
    matrix.write_text(CSV.replace("a,0", "a,7"))
    assert run(["import", "matrix.csv", "-o", "c.json"]) == 0
    assert capsys.readouterr().err == (
        "note: 1 value on the diagonal left out: a host has no distance to itself\n"
    )


@pytest.mark.parametrize(
    ("content", "options", "message"),
    [
        (CSV, ["--unit", "ms"], "matrix.csv: row 1, column 1 says us, but the unit ms was given"),
        (CSV.replace("us", "", 1), [], "matrix.csv: row 1, column 1 is empty"),
        (CSV.replace("50", "fast"), [], "row 2 ('a'), column 4 ('c'): 'fast' is not a number"),
        (CSV, ["-o", "absent/c.json"], "absent/c.json: there is no folder"),
        ("", [], "matrix.csv: is empty"),
        ('{"format": "plink.order"}', [], "matrix.csv: is JSON, not CSV"),
        ('{"format": "plink.cluster"}', [], "matrix.csv: version None of the format plink.cluster"),
        ('{"format": "plink.cluster"}', ["--unit", "us"], "is a cluster file"),
    ],
)
def test_a_refusal_is_one_sentence_and_writes_nothing(
    matrix: Path,
    capsys: pytest.CaptureFixture[str],
    content: str,
    options: list[str],
    message: str,
) -> None:
    matrix.write_text(content)
    assert run(["import", "matrix.csv", "-o", "c.json", *options]) == 2
    output, errors = capsys.readouterr()
    assert output == ""
    assert errors.startswith("error: ")
    assert message in errors.splitlines()[0]
    assert all(line.startswith("hint: ") for line in errors.splitlines()[1:])
    assert [path.name for path in matrix.parent.iterdir()] == ["matrix.csv"]


def test_exports_that_cannot_be(matrix: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run(["import", "matrix.csv", "-o", "c.json"])
    assert run(["export", "c.json", "--percentile", "99"]) == 2
    assert capsys.readouterr().err == (
        "error: c.json: has no round-trip times at p99\nhint: choose a percentile of p10\n"
    )
    Path("bare.json").write_text(
        '{"format": "plink.cluster", "version": 1, "hosts": [{"name": "a", "address": "a"}]}'
    )
    assert run(["export", "bare.json"]) == 2
    assert capsys.readouterr().err == (
        "error: bare.json: holds no round-trip times\n"
        "hint: plink probe --resume bare.json measures them, plink import takes them from a "
        "matrix\n"
    )
    assert run(["export", "matrix.csv"]) == 2
    assert "matrix.csv: is not JSON\nhint: plink import reads CSV" in capsys.readouterr().err
