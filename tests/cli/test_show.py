"""`plink show`, as a user runs it."""

import contextlib
import io
import json
import os
import pty
import re
import subprocess
import sys
import threading
from pathlib import Path
from unittest import mock

import numpy as np
import pytest

from plink.base.replacing import replace
from plink.base.text import rtt_text
from plink.cli import run
from plink.formats import cluster, document
from plink.formats import order as order_file
from plink.formats.structs import encode
from plink.optimize.orders.ordering import find_order
from plink.optimize.orders.request import OrderRequest
from show.racks import racks
from support.plink_command import plink_here


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name in ("NO_COLOR", "COLUMNS"):
        monkeypatch.delenv(name, raising=False)
    cluster.write_cluster("c.json", racks(4, 4).cluster)
    return tmp_path


def plink(folder: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "plink", *arguments],
        cwd=folder,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )


def on_a_terminal(file: str = "c.json", **environment: str) -> str:
    """Return what `plink show` writes to a terminal of 24 lines and 80 columns."""
    ours, theirs = pty.openpty()
    shown: list[bytes] = []

    def read() -> None:
        # How Linux says that the other end of a terminal is closed.
        with contextlib.suppress(OSError):
            while chunk := os.read(ours, 65536):
                shown.append(chunk)

    reader = threading.Thread(target=read)
    reader.start()
    base = {"PATH": os.environ["PATH"], "LINES": "24", "COLUMNS": "80", "LANG": "C.UTF-8"}
    with (
        os.fdopen(theirs, "w", encoding="utf-8") as terminal,
        mock.patch.dict(os.environ, base | environment, clear=True),
        contextlib.redirect_stdout(terminal),
        contextlib.redirect_stderr(terminal),
    ):
        run(["show", file])
    reader.join()
    os.close(ours)
    return b"".join(shown).decode()


def test_without_a_terminal_there_are_shades(folder: Path) -> None:
    done = plink(folder, "show", "c.json")
    assert (done.returncode, done.stderr) == (0, "")
    assert "\x1b" not in done.stdout
    assert "████" in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 80


def test_a_terminal_gets_colours_on_one_screen(folder: Path) -> None:
    shown = on_a_terminal(TERM="xterm-256color", COLORTERM="truecolor")
    assert "\x1b[48;2;253;231;37m" in shown
    assert shown.count("\n") <= 24


@pytest.mark.parametrize(
    "environment",
    [{"TERM": "xterm-256color", "NO_COLOR": "1"}, {"TERM": "xterm"}],
    ids=str,
)
def test_a_terminal_without_enough_colours_gets_shades(
    folder: Path, environment: dict[str, str]
) -> None:
    shown = on_a_terminal(**environment)
    assert "[48;" not in shown
    assert "████" in shown


@pytest.mark.parametrize("no_color", ["", "1"])
def test_errors_are_coloured_unless_told_not_to(folder: Path, no_color: str) -> None:
    shown = on_a_terminal("x.json", TERM="xterm-256color", NO_COLOR=no_color)
    assert ("\x1b[31merror:" in shown) == (no_color == "")
    assert "x.json: No such file or directory" in shown


def test_a_terminal_without_unicode_gets_an_answer(folder: Path) -> None:
    done = plink(folder, "show", "c.json", PYTHONIOENCODING="ascii")
    assert (done.returncode, done.stderr) == (0, "")
    assert "####" in done.stdout
    assert done.stdout.isascii()
    assert "?" not in done.stdout
    assert "us" in done.stdout.split()


def test_width_and_percentile(folder: Path) -> None:
    narrow = plink_here("show", "c.json", "--width", "40", "--percentile", "99").stdout
    assert max(map(len, narrow.splitlines())) <= 40
    assert "p99 by echo" in narrow


def test_the_heading_names_the_percentile_that_is_shown(folder: Path) -> None:
    found = racks(4, 4)
    rtt = replace(found.rtt, options={"count": 9, "percentile": 10.0})
    cluster.write_cluster("c.json", replace(found.cluster, rtt=rtt))
    shown = plink_here("show", "c.json", "--percentile", "99").stdout
    assert "p99 by echo (count 9)" in shown


def test_the_histogram_has_ends(folder: Path) -> None:
    values = racks(4, 4).readings_us
    shown = plink_here("show", "c.json").stdout.splitlines()
    line = next(part for part in shown if "distances" in part)
    least, largest = (rtt_text(float(end)) for end in (np.nanmin(values), np.nanmax(values)))
    assert re.search(f"distances {least} .* {largest}$", line.rstrip())


def test_statistics_are_no_plink_file(folder: Path) -> None:
    statistics = plink_here("show", "c.json", "--json").stdout
    (folder / "s.json").write_text(statistics)
    done = plink_here("show", "s.json")
    assert (done.code, done.stdout) == (2, "")
    assert done.stderr.startswith("error: s.json: is not a plink file, and cannot be shown\nhint: ")
    for mode in json.loads(statistics)["modes"]:
        assert mode["rtt_us"] == round(mode["rtt_us"], 3)


def test_json(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["show", "c.json", "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert (data["pairs"], data["measured"], len(data["hosts"])) == (240, 240, 16)
    assert [round(mode["rtt_us"]) for mode in data["modes"]] == [22, 51]


def test_the_next_step_is_said(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["show", "c.json"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "next 1 host could not be reached: plink probe --resume c.json" in said
    cluster.write_cluster("c.json", replace(racks(4, 4).cluster, unreachable=()))
    assert run(["show", "c.json"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "next no groups are known yet: plink group c.json" in said


def test_an_order(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = find_order(racks(4, 4).cluster, OrderRequest(seed=1, time_limit_s=0.05))
    order_file.write_order("o.json", found)
    assert run(["show", "o.json"]) == 0
    shown = capsys.readouterr().out.split()
    assert [shown.count(name) for name in found.names] == [2] + [1] * 15
    assert {"given", "random", "bound", "gap"} <= set(shown)
    assert run(["show", "o.json", "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert (data["format"], data["cost"]["cost_us"]) == ("plink.order", found.cost.cost_us)
    hops_us = data["cost"]["hops_us"]
    assert sum(hops_us) == pytest.approx(found.cost.cost_us)
    assert sorted(hops_us)[-4] > 49
    assert sorted(hops_us)[-5] < 25


@pytest.mark.parametrize("hops_us", [[1.0] * 16, [1.0], [-1.0] * 16])
def test_an_order_that_cannot_be(
    folder: Path, capsys: pytest.CaptureFixture[str], hops_us: list[float]
) -> None:
    found = find_order(racks(4, 4).cluster, OrderRequest(seed=1, time_limit_s=0.05))
    data = encode(found)
    data["cost"]["hops_us"] = hops_us
    (folder / "o.json").write_bytes(document.dump(data))
    assert run(["show", "o.json"]) == 2
    assert capsys.readouterr().err.startswith("error: o.json: ")


def test_an_order_without_structure_says_so(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    order_file.write_order(
        "o.json", find_order(racks(1, 8).cluster, OrderRequest(seed=1, time_limit_s=0.05))
    )
    assert run(["show", "o.json"]) == 0
    assert "note: no structure found" in capsys.readouterr().err


def test_an_order_has_no_percentile(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    order_file.write_order(
        "o.json", find_order(racks(2, 2).cluster, OrderRequest(seed=1, time_limit_s=0.05))
    )
    assert run(["show", "o.json", "--percentile", "50"]) == 2
    assert "--percentile applies only to cluster files" in capsys.readouterr().err


def test_standard_input(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    content = (folder / "c.json").read_bytes()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))
    assert run(["show", "-"]) == 0
    assert "standard input  16 hosts" in capsys.readouterr().out


@pytest.mark.parametrize("arguments", [["show"], ["export"]])
def test_a_reader_that_leaves_is_no_error(folder: Path, arguments: list[str]) -> None:
    cluster.write_cluster(str(folder / "big.json"), racks(10, 10, missing=0.5).cluster)
    process = subprocess.Popen(
        [sys.executable, "-m", "plink", *arguments, "big.json"],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.close()
    with process.stderr:
        errors = process.stderr.read()
    assert process.wait(timeout=100) == 1
    assert errors == b""


@pytest.mark.parametrize(
    ("content", "message", "hint"),
    [
        (None, "x.json: No such file or directory", None),
        ("", "x.json: is empty, expected a JSON object", None),
        ("us,a\na,0\n", "x.json: is not JSON", "plink import reads CSV"),
        ('{"format": "pl', "x.json: not valid JSON", "the file may be truncated"),
        ("[]", "x.json: expected a JSON object, found a list", None),
        (
            '{"format": "plink.tea"}',
            "x.json: is a 'plink.tea' file",
            "cluster, order, plan and comparison files",
        ),
        ("{}", "x.json: is not a plink file", "cluster, order, plan and comparison files"),
        ('{"format": "plink.cluster", "version": 9}', "x.json: version 9 of", "reads version 1"),
        ('{"format": "plink.cluster", "version": 1}', "x.json: ", None),
    ],
)
def test_an_error_is_one_sentence_and_perhaps_a_hint(
    folder: Path, content: str | None, message: str, hint: str | None
) -> None:
    if content is not None:
        (folder / "x.json").write_text(content)
    done = plink_here("show", "x.json")
    assert (done.code, done.stdout) == (2, "")
    first, *rest = done.stderr.splitlines()
    assert first.startswith(f"error: {message}")
    assert not first.endswith(".")
    if hint is None:
        assert rest == []
    else:
        assert len(rest) == 1
        assert rest[0].startswith("hint: ")
        assert hint in rest[0]
