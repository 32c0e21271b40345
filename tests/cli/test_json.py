"""`--json`: every verb has it, and standard output then holds JSON alone."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click
import pytest

from plink.cli import COMMANDS, cli
from support.plink_command import plink_here

CSV = "us,a,b,c\na,,2,3\nb,1,,4\nc,5,,\n"
OSU = """\
# pair: a b
# OSU MPI Bandwidth Test v7.2
# Size      Bandwidth (MB/s)
1024          100.5
"""


@pytest.fixture
def cluster(tmp_path: Path) -> Path:
    out = tmp_path / "c.json"
    assert plink_here("import", "-", "-o", out, text=CSV).code == 0
    return out


def printed(*arguments: object, text: str = "", code: int = 0) -> Any:
    done = plink_here(*arguments, text=text)
    assert done.code == code, done.stderr
    return json.loads(done.stdout)


def test_every_verb_has_it() -> None:
    context = click.Context(cli)
    for name in COMMANDS:
        command = cli.get_command(context, name)
        assert command is not None
        for verb in getattr(command, "commands", {name: command}).values():
            (option,) = [each for each in verb.params if each.name == "as_json"]
            assert not getattr(option, "hidden", False), name


def test_import_says_what_it_found(tmp_path: Path) -> None:
    out = tmp_path / "c.json"
    found = printed("import", "-", "-o", out, "--json", text=CSV)
    assert found == {
        "output": str(out),
        "hosts": ["a", "b", "c"],
        "rtt": {"tool": "import", "pairs": 6, "measured": 5, "notes": [], "failures": []},
    }
    found = printed("import", "-", "-o", out, "--json", text=OSU)
    assert (found["bandwidth"]["tool"], found["bandwidth"]["measured"]) == ("osu", 1)


def test_export_prints_the_matrix(cluster: Path, tmp_path: Path) -> None:
    out = tmp_path / "m.csv"
    assert printed("export", cluster, "--unit", "ms", "--json", "-o", out) == {
        "quantity": "rtt",
        "unit": "ms",
        "percentile": 10.0,
        "hosts": ["a", "b", "c"],
        "values": [[None, 0.002, 0.003], [0.001, None, 0.004], [0.005, None, None]],
    }
    assert out.read_text().startswith("ms,a,b,c\n")


def test_figures_are_named(cluster: Path) -> None:
    found = printed("kube", "metrics", cluster, "--json")
    assert found["hosts"] == [{"value": 3}]
    assert found["pairs_missing"] == [{"value": 1}]
    medians = {each["host"]: each["value"] for each in found["host_rtt_seconds"]}
    assert medians == pytest.approx({"a": 2.5e-6, "b": 2.5e-6, "c": 5e-6})


def test_a_report_says_what_its_page_shows(cluster: Path, tmp_path: Path) -> None:
    pytest.importorskip("plotly")
    out = tmp_path / "r.html"
    found = printed("report", cluster, "-o", out, "--json")
    assert found["output"] == str(out)
    assert found["bytes"] == out.stat().st_size
    assert {"anchor", "title", "texts", "tables"} == set(found["sections"][0])
    assert any(step["command"].startswith("plink ") for step in found["next"])


@pytest.mark.parametrize(
    "words",
    [
        ["import", "{}", "--json"],
        ["export", "{}", "--json", "-o", "-"],
        ["report", "{}", "--json", "-o", "-"],
        ["probe", "hosts", "--json", "-o", "-"],
        ["probe", "hosts", "--all", "--json", "-o", "-"],
    ],
)
def test_a_file_and_json_do_not_share_standard_output(words: list[str], cluster: Path) -> None:
    done = plink_here(*(word.format(cluster) for word in words))
    assert done.code == 2
    assert done.stdout == ""
    assert "both write to standard output" in done.stderr


def test_the_list_of_algorithms_is_a_line_each_where_it_is_piped() -> None:
    done = plink_here("order", "--list-algorithms")
    lines = done.stdout.splitlines()
    assert all(line[:1] != " " for line in lines)
    assert max(map(len, lines)) > 80
